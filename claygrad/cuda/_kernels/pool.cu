// types: f4 f8
// Pooling over three axes (fewer have sizes of 1). A plane is a channel of an example: size[0] * size[1] * size[2] elements.
// d: depth, h: height, w: width; n: the input, o: the result, k: kernel, s: stride, p: padding, l: dilation.

#define WINDOWS i64 nd, i64 nh, i64 nw, i64 od, i64 oh, i64 ow, i64 kd, i64 kh, i64 kw, i64 sd, i64 sh, i64 sw, i64 pd, i64 ph, i64 pw

// The first place of a window that is not padding.
__device__ inline i64 first_inside(i64 at, i64 step) { return at < 0 ? at + (-at + step - 1) / step * step : at; }
__device__ inline i64 smaller_of(i64 a, i64 b) { return a < b ? a : b; }
__device__ inline i64 larger_of(i64 a, i64 b) { return a > b ? a : b; }

// index: where the largest element is in its plane: the first of equals, the last NaN; not wanted if null.
template <typename T> KERNEL max_pool(const T* x, T* out, i64* index, i64 total, WINDOWS, i64 ld, i64 lh, i64 lw) {
  for (i64 i = thread_number(); i < total; i += thread_count()) {
    const i64 d = i / (oh * ow) % od * sd - pd, h = i / ow % oh * sh - ph, w = i % ow * sw - pw;
    const T* plane = x + i / (od * oh * ow) * (nd * nh * nw);
    T best = minus_infinity<T>();
    i64 place = (first_inside(d, ld) * nh + first_inside(h, lh)) * nw + first_inside(w, lw);
    for (i64 a = first_inside(d, ld); a < smaller_of(nd, d + kd * ld); a += ld)
      for (i64 b = first_inside(h, lh); b < smaller_of(nh, h + kh * lh); b += lh)
        for (i64 c = first_inside(w, lw); c < smaller_of(nw, w + kw * lw); c += lw) {
          const T v = plane[(a * nh + b) * nw + c];
          if (v > best || v != v) {
            best = v;
            place = (a * nh + b) * nw + c;
          }
        }
    out[i] = best;
    if (index) index[i] = place;
  }
}

template <typename T> KERNEL max_pool_backward(const T* g, const i64* index, T* to_x, i64 total, i64 results, i64 places) {
  for (i64 i = thread_number(); i < total; i += thread_count()) atomicAdd(to_x + i / results * places + index[i], g[i]);
}

// By how much the sum of a window is divided. divisor: what the user said, or 0.
__device__ inline i64 window_size(i64 at, i64 k, i64 n, i64 p, int with_padding) {
  const i64 end = smaller_of(at + k, n + p);
  return with_padding ? end - at : larger_of(smaller_of(end, n) - larger_of(at, 0), 0);
}

template <typename T> KERNEL avg_pool(const T* x, T* out, i64 total, WINDOWS, int with_padding, i64 divisor) {
  for (i64 i = thread_number(); i < total; i += thread_count()) {
    const i64 d = i / (oh * ow) % od * sd - pd, h = i / ow % oh * sh - ph, w = i % ow * sw - pw;
    const T* plane = x + i / (od * oh * ow) * (nd * nh * nw);
    i64 by = divisor ? divisor : window_size(d, kd, nd, pd, with_padding) * window_size(h, kh, nh, ph, with_padding)
                                     * window_size(w, kw, nw, pw, with_padding);
    if (by == 0) by = 1;
    T sum = 0;
    for (i64 a = larger_of(d, 0); a < smaller_of(nd, d + kd); a++)
      for (i64 b = larger_of(h, 0); b < smaller_of(nh, h + kh); b++)
        for (i64 c = larger_of(w, 0); c < smaller_of(nw, w + kw); c++) sum += plane[(a * nh + b) * nw + c];
    out[i] = sum / by;
  }
}

// The windows that hold a place: from the first whose end is behind it to the last that begins before it.
__device__ inline i64 first_window(i64 at, i64 k, i64 s, i64 p) { return at + p < k ? 0 : (at + p - k) / s + 1; }

template <typename T> KERNEL avg_pool_backward(const T* g, T* to_x, i64 total, WINDOWS, int with_padding, i64 divisor) {
  for (i64 i = thread_number(); i < total; i += thread_count()) {
    const i64 d = i / (nh * nw) % nd, h = i / nw % nh, w = i % nw;
    const T* plane = g + i / (nd * nh * nw) * (od * oh * ow);
    T sum = 0;
    for (i64 a = first_window(d, kd, sd, pd); a < smaller_of(od, (d + pd) / sd + 1); a++)
      for (i64 b = first_window(h, kh, sh, ph); b < smaller_of(oh, (h + ph) / sh + 1); b++)
        for (i64 c = first_window(w, kw, sw, pw); c < smaller_of(ow, (w + pw) / sw + 1); c++) {
          i64 by = divisor ? divisor : window_size(a * sd - pd, kd, nd, pd, with_padding)
                                           * window_size(b * sh - ph, kh, nh, ph, with_padding)
                                           * window_size(c * sw - pw, kw, nw, pw, with_padding);
          if (by == 0) by = 1;
          sum += plane[(a * oh + b) * ow + c] / by;
        }
    to_x[i] = sum;
  }
}
