// What all kernels share. The text is put before each of them (source.py), so that NVRTC needs no folder of headers.
//
// A kernel is a template over T, the dtype of its elements, and is written for any number of blocks and threads: it counts them
// itself. A test compiles the same text for the host, with threads as fibers (tests/devices/host_cuda.hpp).

typedef long long i64;
typedef unsigned long long u64;

#define KERNEL __device__ void

struct pair16 { u64 low, high; };              // sixteen bytes that are moved and not computed with: a complex128

__device__ inline i64 thread_number() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline i64 thread_count() { return (i64)gridDim.x * blockDim.x; }

template <typename T> __device__ inline T larger(T a, T b) { return a < b || b != b ? b : a; }      // NaN is larger than all
template <typename T> __device__ inline T minus_infinity() { T zero = 0; return -1 / zero; }

// Sums and maxima over the threads of a block, whose number is a multiple of 32; all threads get the result.
template <typename T> __device__ T block_sum(T v) {
  __shared__ T part[32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  for (int k = 16; k; k >>= 1) v += __shfl_xor_sync(0xffffffffu, v, k);
  __syncthreads();                             // some may still read the parts of the last call
  if (lane == 0) part[warp] = v;
  __syncthreads();
  v = lane < warps ? part[lane] : T(0);
  for (int k = 16; k; k >>= 1) v += __shfl_xor_sync(0xffffffffu, v, k);
  return v;
}

template <typename T> __device__ T block_max(T v) {
  __shared__ T part[32];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  for (int k = 16; k; k >>= 1) v = larger(v, __shfl_xor_sync(0xffffffffu, v, k));
  __syncthreads();
  if (lane == 0) part[warp] = v;
  __syncthreads();
  v = lane < warps ? part[lane] : minus_infinity<T>();
  for (int k = 16; k; k >>= 1) v = larger(v, __shfl_xor_sync(0xffffffffu, v, k));
  return v;
}
