// types: u1 u2 u4 u8 u16
// Elements and rows picked by number. They are moved by their bytes, so T is an integer of their size.

// Of (outer, n, inner): out[a][i][b] = x[a][index[a][i][b]][b], where out has `picked` places along the axis.
template <typename T> KERNEL gather(const T* x, const i64* index, T* out, i64 total, i64 n, i64 picked, i64 inner) {
  for (i64 i = thread_number(); i < total; i += thread_count())
    out[i] = x[(i / (picked * inner) * n + index[i]) * inner + i % inner];
}

template <typename T> KERNEL pick_rows(const T* x, const i64* index, T* out, i64 total, i64 width) {
  for (i64 i = thread_number(); i < total; i += thread_count()) out[i] = x[index[i / width] * width + i % width];
}
