// types: f4 f8
// Softmax and its logarithm. Rows: a block each, of n neighbours. Columns: a thread each, of n elements `inner` apart.

template <typename T> KERNEL softmax_rows(const T* x, T* out, i64 n, int logarithm) {
  x += (i64)blockIdx.x * n;
  out += (i64)blockIdx.x * n;
  T top = minus_infinity<T>(), sum = 0;
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) top = larger(top, x[i]);
  top = block_max(top);
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) sum += exp(x[i] - top);
  sum = block_sum(sum);
  const T logs = log(sum);
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) out[i] = logarithm ? x[i] - top - logs : exp(x[i] - top) / sum;
}

template <typename T> KERNEL softmax_columns(const T* x, T* out, i64 columns, i64 n, i64 inner, int logarithm) {
  for (i64 c = thread_number(); c < columns; c += thread_count()) {
    const i64 at = c / inner * n * inner + c % inner;
    T top = minus_infinity<T>(), sum = 0;
    for (i64 i = 0; i < n; i++) top = larger(top, x[at + i * inner]);
    for (i64 i = 0; i < n; i++) sum += exp(x[at + i * inner] - top);
    const T logs = log(sum);
    for (i64 i = 0; i < n; i++) {
      const T v = x[at + i * inner] - top;
      out[at + i * inner] = logarithm ? v - logs : exp(v) / sum;
    }
  }
}

// g: the gradient of the result y.
template <typename T> KERNEL softmax_rows_backward(const T* g, const T* y, T* out, i64 n, int logarithm) {
  g += (i64)blockIdx.x * n;
  y += (i64)blockIdx.x * n;
  out += (i64)blockIdx.x * n;
  T sum = 0;
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) sum += logarithm ? g[i] : g[i] * y[i];
  sum = block_sum(sum);
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) out[i] = logarithm ? g[i] - exp(y[i]) * sum : y[i] * (g[i] - sum);
}

template <typename T> KERNEL softmax_columns_backward(const T* g, const T* y, T* out, i64 columns, i64 n, i64 inner, int logarithm) {
  for (i64 c = thread_number(); c < columns; c += thread_count()) {
    const i64 at = c / inner * n * inner + c % inner;
    T sum = 0;
    for (i64 i = 0; i < n; i++) sum += logarithm ? g[at + i * inner] : g[at + i * inner] * y[at + i * inner];
    for (i64 i = 0; i < n; i++) {
      const i64 k = at + i * inner;
      out[k] = logarithm ? g[k] - exp(y[k]) * sum : y[k] * (g[k] - sum);
    }
  }
}
