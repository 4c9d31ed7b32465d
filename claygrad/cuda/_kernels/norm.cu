// types: f4 f8
// Layer, group, root-mean-square and batch normalisation.
//
// A row is what is normalised together: an example, or a group of its channels. Element i of row r has the weight
// (r % groups) * (n / spread) + i / spread: for layers groups and spread are 1, for groups of channels spread is the number of places.

template <typename T> KERNEL norm_rows(const T* x, const T* weight, const T* bias, T* out, T* mean, T* rstd, i64 n, i64 groups,
                                       i64 spread, double eps, int centred) {
  const i64 row = blockIdx.x, first = row % groups * (n / spread);
  x += row * n;
  out += row * n;
  T middle = 0, square = 0;
  if (centred) {
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) middle += x[i];
    middle = block_sum(middle) / n;
  }
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) square += (x[i] - middle) * (x[i] - middle);
  const T scale = 1 / sqrt(block_sum(square) / n + (T)eps);
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
    T v = (x[i] - middle) * scale;
    if (weight) v *= weight[first + i / spread];
    if (bias) v += bias[first + i / spread];
    out[i] = v;
  }
  if (threadIdx.x == 0) {
    if (centred) mean[row] = middle;
    rstd[row] = scale;
  }
}

template <typename T> KERNEL norm_rows_backward(const T* g, const T* x, const T* mean, const T* rstd, const T* weight, T* to_x, i64 n,
                                                i64 groups, i64 spread, int centred) {
  const i64 row = blockIdx.x, first = row % groups * (n / spread);
  g += row * n;
  x += row * n;
  to_x += row * n;
  const T middle = centred ? mean[row] : T(0), scale = rstd[row];
  T along = 0, level = 0;
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
    const T v = weight ? g[i] * weight[first + i / spread] : g[i];
    level += v;
    along += v * ((x[i] - middle) * scale);
  }
  level = centred ? block_sum(level) / n : T(0);
  along = block_sum(along) / n;
  for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
    const T v = weight ? g[i] * weight[first + i / spread] : g[i];
    to_x[i] = scale * (v - level - (x[i] - middle) * scale * along);
  }
}

// The gradients of weight and bias of layers: sums over rows. A block does 32 columns, and its rows are shared by 16 threads.
template <typename T> KERNEL norm_columns_backward(const T* g, const T* x, const T* mean, const T* rstd, T* to_weight, T* to_bias, i64 rows,
                                                   i64 n, int centred) {
  __shared__ T weights[512];
  __shared__ T biases[512];
  const int lane = threadIdx.x & 31, part = threadIdx.x >> 5;
  const i64 column = (i64)blockIdx.x * 32 + lane;
  T weight = 0, bias = 0;
  if (column < n)
    for (i64 row = part; row < rows; row += 16) {
      const T v = g[row * n + column];
      weight += v * ((x[row * n + column] - (centred ? mean[row] : T(0))) * rstd[row]);
      bias += v;
    }
  weights[threadIdx.x] = weight;
  biases[threadIdx.x] = bias;
  __syncthreads();
  if (part == 0 && column < n) {
    for (int k = 1; k < 16; k++) {
      weight += weights[k * 32 + lane];
      bias += biases[k * 32 + lane];
    }
    if (to_weight) to_weight[column] = weight;
    if (to_bias) to_bias[column] = bias;
  }
}

// Of (examples, channels, places): moments of every channel, a block each.
template <typename T> KERNEL channel_moments(const T* x, T* mean, T* variance, i64 examples, i64 channels, i64 places) {
  const i64 c = blockIdx.x, count = examples * places;
  T middle = 0, square = 0;
  for (i64 i = threadIdx.x; i < count; i += blockDim.x) middle += x[(i / places * channels + c) * places + i % places];
  middle = block_sum(middle) / count;
  for (i64 i = threadIdx.x; i < count; i += blockDim.x) {
    const T v = x[(i / places * channels + c) * places + i % places] - middle;
    square += v * v;
  }
  square = block_sum(square) / count;
  if (threadIdx.x == 0) {
    mean[c] = middle;
    variance[c] = square;
  }
}

template <typename T> KERNEL channel_norm(const T* x, const T* mean, const T* rstd, const T* weight, const T* bias, T* out, i64 total,
                                          i64 channels, i64 places) {
  for (i64 i = thread_number(); i < total; i += thread_count()) {
    const i64 c = i / places % channels;
    T v = (x[i] - mean[c]) * rstd[c];
    if (weight) v *= weight[c];
    if (bias) v += bias[c];
    out[i] = v;
  }
}

// For every channel the sums of g and of g times the normalised input. A group of channels has moments of its own in every example:
// those of channel c of example k are number k * steps + c / each.
template <typename T> KERNEL channel_sums(const T* g, const T* x, const T* mean, const T* rstd, T* plain, T* along, i64 examples,
                                          i64 channels, i64 places, i64 steps, i64 each) {
  const i64 c = blockIdx.x, count = examples * places;
  T first = 0, second = 0;
  for (i64 i = threadIdx.x; i < count; i += blockDim.x) {
    const i64 at = (i / places * channels + c) * places + i % places, k = i / places * steps + c / each;
    first += g[at];
    second += g[at] * ((x[at] - mean[k]) * rstd[k]);
  }
  first = block_sum(first);
  second = block_sum(second);
  if (threadIdx.x == 0) {
    plain[c] = first;
    along[c] = second;
  }
}

template <typename T> KERNEL channel_norm_backward(const T* g, const T* x, const T* mean, const T* rstd, const T* weight, const T* plain,
                                                   const T* along, T* to_x, i64 total, i64 channels, i64 places, i64 count, int training) {
  for (i64 i = thread_number(); i < total; i += thread_count()) {
    const i64 c = i / places % channels;
    T v = g[i];
    if (training) v -= plain[c] / count + (x[i] - mean[c]) * rstd[c] * (along[c] / count);
    v *= rstd[c];
    to_x[i] = weight ? v * weight[c] : v;
  }
}
