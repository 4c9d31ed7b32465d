from claygrad.core.layout cimport Layout
cdef Layout in_order(Layout x)          # its elements in row-major order, copied if they are not
cdef Layout several(Layout x, object s, object dim, object norm, bint half, bint forward)      # of real or complex numbers; or None
