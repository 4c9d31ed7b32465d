# Indexing and index assignment hook themselves into Tensor; nothing here is for Python.
