from claygrad.core.data.layout cimport Layout
cdef Layout several(Layout x, object s, object dim, object norm, bint half, bint forward)      # of real or complex numbers; or None
