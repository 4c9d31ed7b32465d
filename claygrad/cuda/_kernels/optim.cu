// types: f4 f8
// Steps of optimizers over many parameters in one launch. Block (x, y) works on parameter y: its line of `tensors` is the address of the
// parameter, of its gradient and of its states, its line of `numbers` how many elements it has and the bits of two doubles.

__device__ inline double number_of(const i64* bits) { return *(const double*)bits; }

template <typename T> KERNEL sgd(const u64* tensors, const i64* numbers, double momentum, double damping, double decay, int nesterov,
                                 int maximize) {
  const u64* line = tensors + (i64)blockIdx.y * 5;
  T* param = (T*)line[0];
  const T* grad = (const T*)line[1];
  T* buffer = (T*)line[2];
  const i64 n = numbers[(i64)blockIdx.y * 3];
  const T size = number_of(numbers + (i64)blockIdx.y * 3 + 1);
  for (i64 i = thread_number(); i < n; i += thread_count()) {
    T g = maximize ? -grad[i] : grad[i];
    if (decay != 0) g += (T)decay * param[i];
    if (buffer) {
      const T b = (T)momentum * buffer[i] + (T)(1 - damping) * g;
      buffer[i] = b;
      g = nesterov ? g + (T)momentum * b : b;
    }
    param[i] += size * g;
  }
}

// The two numbers: minus the step size over the bias of the mean, and the root of the bias of the squares.
template <typename T> KERNEL adam(const u64* tensors, const i64* numbers, double beta1, double beta2, double eps, double decay, double shrink,
                                  int decoupled, int maximize) {
  const u64* line = tensors + (i64)blockIdx.y * 5;
  T* param = (T*)line[0];
  const T* grad = (const T*)line[1];
  T* mean = (T*)line[2];
  T* square = (T*)line[3];
  T* largest = (T*)line[4];
  const i64 n = numbers[(i64)blockIdx.y * 3];
  const T size = number_of(numbers + (i64)blockIdx.y * 3 + 1), bias = number_of(numbers + (i64)blockIdx.y * 3 + 2);
  for (i64 i = thread_number(); i < n; i += thread_count()) {
    T g = maximize ? -grad[i] : grad[i], p = param[i];
    if (decay != 0) {
      if (decoupled) p *= (T)shrink;
      else g += (T)decay * p;
    }
    const T m = mean[i] + (g - mean[i]) * (T)(1 - beta1);
    T v = square[i] * (T)beta2 + (T)(1 - beta2) * g * g;
    mean[i] = m;
    square[i] = v;
    if (largest) largest[i] = v = larger(largest[i], v);
    param[i] = p + size * m / (sqrt(v) / bias + (T)eps);
  }
}
