// The one door to BLAS; platform/api.hpp holds what the core may call.
#pragma once

namespace clay {

void blas_set_threads(int n);            // nothing if no library is loaded

}  // namespace clay
