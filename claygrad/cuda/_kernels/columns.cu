// types: f4 f8
// The windows of a kernel that slides over three axes (fewer have sizes of 1), as columns (planes, *kernel, *windows), and back. A plane
// is a channel of an example. Letters as in pool.cu. And convolutions of each channel by itself, which need no columns.

#define WINDOWS i64 nd, i64 nh, i64 nw, i64 od, i64 oh, i64 ow, i64 kd, i64 kh, i64 kw, i64 sd, i64 sh, i64 sw, i64 pd, i64 ph, i64 pw, \
                i64 ld, i64 lh, i64 lw

template <typename T> KERNEL to_columns(const T* x, T* out, i64 total, WINDOWS) {
  for (i64 i = thread_number(); i < total; i += thread_count()) {
    i64 rest = i;
    const i64 c = rest % ow, b = (rest /= ow) % oh, a = (rest /= oh) % od;
    const i64 z = (rest /= od) % kw, y = (rest /= kw) % kh, v = (rest /= kh) % kd, plane = rest / kd;
    const i64 d = a * sd - pd + v * ld, h = b * sh - ph + y * lh, w = c * sw - pw + z * lw;
    const bool inside = d >= 0 && d < nd && h >= 0 && h < nh && w >= 0 && w < nw;
    out[i] = inside ? x[((plane * nd + d) * nh + h) * nw + w] : T(0);
  }
}

// The window along an axis that meets a place with an element of the kernel; -1 if none does.
__device__ inline i64 window_at(i64 place, i64 tap, i64 s, i64 p, i64 l, i64 windows) {
  const i64 at = place + p - tap * l;
  return at >= 0 && at % s == 0 && at / s < windows ? at / s : -1;
}

template <typename T> KERNEL from_columns(const T* columns, T* out, i64 total, WINDOWS) {
  for (i64 i = thread_number(); i < total; i += thread_count()) {
    const i64 w = i % nw, h = i / nw % nh, d = i / (nw * nh) % nd, plane = i / (nw * nh * nd);
    T sum = 0;
    for (i64 v = 0; v < kd; v++) {
      const i64 a = window_at(d, v, sd, pd, ld, od);
      if (a < 0) continue;
      for (i64 y = 0; y < kh; y++) {
        const i64 b = window_at(h, y, sh, ph, lh, oh);
        if (b < 0) continue;
        for (i64 z = 0; z < kw; z++) {
          const i64 c = window_at(w, z, sw, pw, lw, ow);
          if (c >= 0) sum += columns[((((plane * kd + v) * kh + y) * kw + z) * od + a) * oh * ow + b * ow + c];
        }
      }
    }
    out[i] = sum;
  }
}

// Convolutions whose groups have one input channel and `each` output channels, of `outputs` in all: no product of matrices has
// anything to add up there, so each thread reads its window.

template <typename T> KERNEL depthwise(const T* x, const T* weight, const T* bias, T* out, i64 total, i64 outputs, i64 each, WINDOWS) {
  for (i64 i = thread_number(); i < total; i += thread_count()) {
    const i64 c = i % ow, b = i / ow % oh, a = i / (ow * oh) % od, plane = i / (ow * oh * od), o = plane % outputs;
    const T* from = x + plane / each * nd * nh * nw;        // outputs is a multiple of each
    const T* by = weight + o * kd * kh * kw;
    T sum = bias ? bias[o] : T(0);
    for (i64 v = 0; v < kd; v++) {
      const i64 d = a * sd - pd + v * ld;
      if (d < 0 || d >= nd) continue;
      for (i64 y = 0; y < kh; y++) {
        const i64 h = b * sh - ph + y * lh;
        if (h < 0 || h >= nh) continue;
        for (i64 z = 0; z < kw; z++) {
          const i64 w = c * sw - pw + z * lw;
          if (w >= 0 && w < nw) sum += from[(d * nh + h) * nw + w] * by[(v * kh + y) * kw + z];
        }
      }
    }
    out[i] = sum;
  }
}

// The gradient of the input, and a transposed convolution.
template <typename T> KERNEL depthwise_input(const T* g, const T* weight, T* out, i64 total, i64 outputs, i64 each, WINDOWS) {
  for (i64 i = thread_number(); i < total; i += thread_count()) {
    const i64 w = i % nw, h = i / nw % nh, d = i / (nw * nh) % nd, plane = i / (nw * nh * nd);
    T sum = 0;
    for (i64 k = 0; k < each; k++) {
      const T* from = g + (plane * each + k) * od * oh * ow;
      const T* by = weight + (plane * each + k) % outputs * kd * kh * kw;
      for (i64 v = 0; v < kd; v++) {
        const i64 a = window_at(d, v, sd, pd, ld, od);
        if (a < 0) continue;
        for (i64 y = 0; y < kh; y++) {
          const i64 b = window_at(h, y, sh, ph, lh, oh);
          if (b < 0) continue;
          for (i64 z = 0; z < kw; z++) {
            const i64 c = window_at(w, z, sw, pw, lw, ow);
            if (c >= 0) sum += from[(a * oh + b) * ow + c] * by[(v * kh + y) * kw + z];
          }
        }
      }
    }
    out[i] = sum;
  }
}

// The gradient of the weight: a block for each of its elements.
template <typename T> KERNEL depthwise_weight(const T* g, const T* x, T* out, i64 examples, i64 outputs, i64 each, WINDOWS) {
  const i64 taps = kd * kh * kw, o = blockIdx.x / taps, windows = od * oh * ow;
  const i64 z = blockIdx.x % kw, y = blockIdx.x / kw % kh, v = blockIdx.x / (kw * kh) % kd;
  T sum = 0;
  for (i64 i = threadIdx.x; i < examples * windows; i += blockDim.x) {
    const i64 at = i % windows, plane = i / windows * outputs + o;
    const i64 d = at / (ow * oh) * sd - pd + v * ld, h = at / ow % oh * sh - ph + y * lh, w = at % ow * sw - pw + z * lw;
    const bool inside = d >= 0 && d < nd && h >= 0 && h < nh && w >= 0 && w < nw;
    if (inside) sum += g[plane * windows + at] * x[((plane / each * nd + d) * nh + h) * nw + w];
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
