from claygrad.core.layout cimport Layout

cdef bint all_finite(Layout v) noexcept
