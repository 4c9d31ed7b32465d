// types: f4 f8
// Attention without the matrix of scores in memory: keys and values go through shared memory, 32 at a time, and sums are corrected
// when a higher score is met. All arrays are (heads, length, depth), depth at most LIMIT; mask, if there is one, is added to the scores
// and is read by its strides: batch, head, query, key. A block has 8 warps, each with a query (or a key) of its own.

template <typename T> struct depth_of { enum { LIMIT = 128 }; };
template <> struct depth_of<double> { enum { LIMIT = 64 }; };

#define LIMIT (depth_of<T>::LIMIT)
#define WARPS 8

template <typename T> __device__ inline T warp_sum(T v) {
  for (int k = 16; k; k >>= 1) v += __shfl_xor_sync(0xffffffffu, v, k);
  return v;
}

template <typename T> __device__ inline T warp_max(T v) {
  for (int k = 16; k; k >>= 1) v = larger(v, __shfl_xor_sync(0xffffffffu, v, k));
  return v;
}

// Up to 32 rows of a matrix into shared memory.
template <typename T> __device__ inline void load_tile(T* tile, const T* rows, i64 first, i64 count, i64 depth) {
  for (i64 i = threadIdx.x; i < 32 * depth; i += blockDim.x) {
    const i64 row = i / depth, at = i % depth;
    tile[row * (LIMIT + 1) + at] = first + row < count ? rows[(first + row) * depth + at] : T(0);
  }
}

template <typename T> __device__ inline T masked(T score, const T* mask, i64 head, i64 per_batch, i64 query, i64 key, i64 batch_step,
                                                 i64 head_step, i64 query_step, i64 key_step, int causal) {
  if (causal && key > query) return minus_infinity<T>();
  return mask ? score + mask[head / per_batch * batch_step + head % per_batch * head_step + query * query_step + key * key_step] : score;
}

template <typename T> KERNEL attention(const T* query, const T* key, const T* value, const T* mask, T* out, T* log_sum, i64 queries,
                                       i64 keys, i64 depth, i64 per_batch, i64 batch_step, i64 head_step, i64 query_step, i64 key_step,
                                       double scale, int causal) {
  __shared__ T some_keys[32 * (LIMIT + 1)];
  __shared__ T some_values[32 * (LIMIT + 1)];
  __shared__ T own[WARPS * LIMIT];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const i64 blocks = (queries + WARPS - 1) / WARPS, head = blockIdx.x / blocks, q = blockIdx.x % blocks * WARPS + warp;
  query += head * queries * depth;
  key += head * keys * depth;
  value += head * keys * depth;
  for (i64 d = lane; d < depth; d += 32) own[warp * LIMIT + d] = q < queries ? query[q * depth + d] : T(0);
  T sums[LIMIT / 32], top = minus_infinity<T>(), total = 0;
  for (int k = 0; k < LIMIT / 32; k++) sums[k] = 0;
  const i64 last = blockIdx.x % blocks * WARPS + WARPS;                       // causal: no query of the block looks farther
  for (i64 first = 0; first < keys && !(causal && first >= last); first += 32) {
    __syncthreads();
    load_tile(some_keys, key, first, keys, depth);
    load_tile(some_values, value, first, keys, depth);
    __syncthreads();
    T score = 0;
    for (i64 d = 0; d < depth; d++) score += own[warp * LIMIT + d] * some_keys[lane * (LIMIT + 1) + d];
    if (first + lane < keys && q < queries)
      score = masked(score * (T)scale, mask, head, per_batch, q, first + lane, batch_step, head_step, query_step, key_step, causal);
    else
      score = minus_infinity<T>();
    const T now = larger(top, warp_max(score));
    const T level = now == minus_infinity<T>() ? T(0) : now;
    const T weight = exp(score - level), shrink = exp(top - level);
    total = total * shrink + warp_sum(weight);
    for (int k = 0; k < LIMIT / 32; k++) sums[k] *= shrink;
    for (int j = 0; j < 32; j++) {
      const T w = __shfl_sync(0xffffffffu, weight, j);
      for (int k = 0; k < LIMIT / 32; k++)
        if (k * 32 + lane < depth) sums[k] += w * some_values[j * (LIMIT + 1) + k * 32 + lane];
    }
    top = now;
  }
  if (q >= queries) return;
  const T by = total == 0 ? T(1) : total;
  for (int k = 0; k < LIMIT / 32; k++)
    if (k * 32 + lane < depth) out[(head * queries + q) * depth + k * 32 + lane] = sums[k] / by;
  if (lane == 0) log_sum[head * queries + q] = log(by) + top;
}

// g: the gradient of the result; dots: for every query the sum of g times the result.
template <typename T> KERNEL attention_query_backward(const T* g, const T* query, const T* key, const T* value, const T* mask,
                                                      const T* log_sum, const T* dots, T* to_query, i64 queries, i64 keys, i64 depth,
                                                      i64 per_batch, i64 batch_step, i64 head_step, i64 query_step, i64 key_step,
                                                      double scale, int causal) {
  __shared__ T some_keys[32 * (LIMIT + 1)];
  __shared__ T some_values[32 * (LIMIT + 1)];
  __shared__ T own[WARPS * LIMIT];
  __shared__ T own_g[WARPS * LIMIT];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const i64 blocks = (queries + WARPS - 1) / WARPS, head = blockIdx.x / blocks, q = blockIdx.x % blocks * WARPS + warp;
  query += head * queries * depth;
  g += head * queries * depth;
  key += head * keys * depth;
  value += head * keys * depth;
  for (i64 d = lane; d < depth; d += 32) {
    own[warp * LIMIT + d] = q < queries ? query[q * depth + d] : T(0);
    own_g[warp * LIMIT + d] = q < queries ? g[q * depth + d] : T(0);
  }
  T level = q < queries ? log_sum[head * queries + q] : T(0);
  level = level == minus_infinity<T>() ? T(0) : level;
  const T dot = q < queries ? dots[head * queries + q] : T(0);
  T sums[LIMIT / 32];
  for (int k = 0; k < LIMIT / 32; k++) sums[k] = 0;
  for (i64 first = 0; first < keys; first += 32) {
    __syncthreads();
    load_tile(some_keys, key, first, keys, depth);
    load_tile(some_values, value, first, keys, depth);
    __syncthreads();
    T score = 0, change = 0;
    for (i64 d = 0; d < depth; d++) {
      score += own[warp * LIMIT + d] * some_keys[lane * (LIMIT + 1) + d];
      change += own_g[warp * LIMIT + d] * some_values[lane * (LIMIT + 1) + d];
    }
    T slope = 0;
    if (first + lane < keys && q < queries) {
      score = masked(score * (T)scale, mask, head, per_batch, q, first + lane, batch_step, head_step, query_step, key_step, causal);
      slope = exp(score - level) * (change - dot) * (T)scale;
    }
    for (int j = 0; j < 32; j++) {
      const T s = __shfl_sync(0xffffffffu, slope, j);
      for (int k = 0; k < LIMIT / 32; k++)
        if (k * 32 + lane < depth) sums[k] += s * some_keys[j * (LIMIT + 1) + k * 32 + lane];
    }
  }
  if (q >= queries) return;
  for (int k = 0; k < LIMIT / 32; k++)
    if (k * 32 + lane < depth) to_query[(head * queries + q) * depth + k * 32 + lane] = sums[k];
}

template <typename T> KERNEL attention_key_backward(const T* g, const T* query, const T* key, const T* value, const T* mask,
                                                    const T* log_sum, const T* dots, T* to_key, T* to_value, i64 queries, i64 keys,
                                                    i64 depth, i64 per_batch, i64 batch_step, i64 head_step, i64 query_step, i64 key_step,
                                                    double scale, int causal) {
  __shared__ T some_queries[32 * (LIMIT + 1)];
  __shared__ T some_g[32 * (LIMIT + 1)];
  __shared__ T own[WARPS * LIMIT];
  __shared__ T own_value[WARPS * LIMIT];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const i64 blocks = (keys + WARPS - 1) / WARPS, head = blockIdx.x / blocks, j = blockIdx.x % blocks * WARPS + warp;
  query += head * queries * depth;
  g += head * queries * depth;
  key += head * keys * depth;
  value += head * keys * depth;
  for (i64 d = lane; d < depth; d += 32) {
    own[warp * LIMIT + d] = j < keys ? key[j * depth + d] : T(0);
    own_value[warp * LIMIT + d] = j < keys ? value[j * depth + d] : T(0);
  }
  T keys_sum[LIMIT / 32], values_sum[LIMIT / 32];
  for (int k = 0; k < LIMIT / 32; k++) keys_sum[k] = values_sum[k] = 0;
  for (i64 first = 0; first < queries; first += 32) {
    __syncthreads();
    load_tile(some_queries, query, first, queries, depth);
    load_tile(some_g, g, first, queries, depth);
    __syncthreads();
    T score = 0, change = 0;
    for (i64 d = 0; d < depth; d++) {
      score += own[warp * LIMIT + d] * some_queries[lane * (LIMIT + 1) + d];
      change += own_value[warp * LIMIT + d] * some_g[lane * (LIMIT + 1) + d];
    }
    T weight = 0, slope = 0;
    const i64 q = first + lane;
    if (q < queries && j < keys) {
      T level = log_sum[head * queries + q];
      level = level == minus_infinity<T>() ? T(0) : level;
      score = masked(score * (T)scale, mask, head, per_batch, q, j, batch_step, head_step, query_step, key_step, causal);
      weight = exp(score - level);
      slope = weight * (change - dots[head * queries + q]) * (T)scale;
    }
    for (int i = 0; i < 32; i++) {
      const T w = __shfl_sync(0xffffffffu, weight, i), s = __shfl_sync(0xffffffffu, slope, i);
      for (int k = 0; k < LIMIT / 32; k++)
        if (k * 32 + lane < depth) {
          keys_sum[k] += s * some_queries[i * (LIMIT + 1) + k * 32 + lane];
          values_sum[k] += w * some_g[i * (LIMIT + 1) + k * 32 + lane];
        }
    }
  }
  if (j >= keys) return;
  for (int k = 0; k < LIMIT / 32; k++)
    if (k * 32 + lane < depth) {
      to_key[(head * keys + j) * depth + k * 32 + lane] = keys_sum[k];
      to_value[(head * keys + j) * depth + k * 32 + lane] = values_sum[k];
    }
}
