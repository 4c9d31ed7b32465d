// BLAS inside the kernels; platform/api.hpp has what the core may call.
#pragma once

namespace clay {

void blas_set_threads(int n);            // does nothing if no library is loaded

}  // namespace clay
