from claygrad.core.data.layout cimport Layout
cdef Layout products(Layout a, Layout b, bint wide=*, Layout start=*)       # batched matrix product, in new memory
