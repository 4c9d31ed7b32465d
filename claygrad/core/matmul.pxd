from claygrad.core.layout cimport Layout
cdef Layout products(Layout a, Layout b)       # of two batches of matrices that fit, in new memory
