// types: f4 f8
// Elements and rows added up where numbers say. In which order equal numbers are added is not fixed, as on any GPU.

template <typename T> KERNEL scatter_add(const T* values, const i64* index, T* out, i64 total, i64 n, i64 picked, i64 inner) {
  for (i64 i = thread_number(); i < total; i += thread_count())
    atomicAdd(out + (i / (picked * inner) * n + index[i]) * inner + i % inner, values[i]);
}

template <typename T> KERNEL add_rows(const T* values, const i64* index, T* out, i64 total, i64 width, i64 skipped) {
  for (i64 i = thread_number(); i < total; i += thread_count())
    if (index[i / width] != skipped) atomicAdd(out + index[i / width] * width + i % width, values[i]);
}
