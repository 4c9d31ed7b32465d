// types: f4 f8
// The windows of a kernel that slides over three axes (fewer have sizes of 1), as columns (planes, *kernel, *windows), and back. A plane
// is a channel of an example. Letters as in pool.cu.

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
