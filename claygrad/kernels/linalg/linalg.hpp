// Arguments of the linear algebra kernels (family "linalg"), over batches of matrices.
#pragma once
#include <stdint.h>

namespace clay {

// Element (i, j) of matrix t is data[t * step + i * row + j * column].
struct Matrices {
    void* data;
    int64_t step, row, column;
};

// `count` matrices a (m x n), right-hand sides b with k columns, and the results.
struct LinearAlgebra {
    int64_t count, m, n, k;
    Matrices a, b, x, y;
    int32_t *pivots, *info;              // min(m, n) for each matrix, and one
    bool upper, unit;
};

// lu: a -> x, pivots, info; without pivots: no row exchanges   det: a -> x   slogdet: a -> x (sign), y
// parts: a (LU), pivots (or none) -> x, y, b: P, L and U; info is 1 where a pivot is out of range
// solve: a, b -> x, info            inverse: a -> x, info            lu_solve: a (LU), pivots, b -> x; upper: of a transposed
// cholesky: a -> x, info            triangular: a, b -> x            cholesky_solve: a (factor), b -> x
// cholesky_inverse: a (factor) -> x
// qr: a -> x (m by k, or null), y (k by n): Q and R          symmetric: a -> x (vectors, or null), y (values), info
// geqrf: a -> x (R, below it the vectors of reflections), y (their tau, one after the other), info: 1 where it is not finite
// reflected: a (vectors below the diagonal, m rows), y (tau, k of them), b (m by n, or null: the identity) -> x; upper: transposed
// least_squares: a, b -> x; y (1 + k for each matrix: an upper bound of the squared condition number, and the squared residual of each column),
//   info: 1 where a is not finite or not of full rank; unit: the condition is not wanted
// singular: a -> x (U, or null), b (values), y (V^T), info; k: the columns of the longer ones of U and V
// False: there was no memory.
using linalg_fn = bool (*)(const LinearAlgebra* job);

}  // namespace clay
