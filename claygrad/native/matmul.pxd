from claygrad.core.data.layout cimport Layout
cdef Layout products(Layout a, Layout b, bint wide=*, Layout start=*)       # of two batches of matrices that fit, in new memory
