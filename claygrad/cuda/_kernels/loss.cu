// types: f4 f8
// Cross entropy of rows of scores against class numbers. A row whose class is `ignored` counts for nothing.

// kept: the highest score of every row, and then the logarithm of the sum of every row below it.
template <typename T> KERNEL cross_entropy_rows(const T* x, const i64* target, T* loss, T* kept, i64 n, i64 ignored) {
  const i64 row = blockIdx.x, wanted = target[row];
  x += row * n;
  T top = minus_infinity<T>(), sum = 0;
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) top = larger(top, x[i]);
  top = block_max(top);
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) sum += exp(x[i] - top);
  sum = block_sum(sum);
  if (threadIdx.x == 0) {
    const T logs = log(sum);
    loss[row] = wanted == ignored ? T(0) : logs - (x[wanted] - top);
    kept[row] = top;
    kept[gridDim.x + row] = logs;
  }
}

template <typename T> KERNEL cross_entropy_rows_backward(const T* scale, const T* x, const i64* target, const T* kept, T* out, i64 rows,
                                                         i64 n, i64 ignored) {
  for (i64 i = thread_number(); i < rows * n; i += thread_count()) {
    const i64 row = i / n;
    const T chance = exp(x[i] - kept[row] - kept[rows + row]);
    out[i] = target[row] == ignored ? T(0) : (chance - (target[row] == i % n ? T(1) : T(0))) * scale[row];
  }
}
