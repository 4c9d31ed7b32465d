from claygrad.core.data.layout cimport Layout

cdef bint all_finite(Layout v) noexcept
