"""Every trick with CPython's types, slots and frames, each with its reason and its invariant."""
