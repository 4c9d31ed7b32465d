"""Other products: chains of matrices, bilinear forms, cross products, distances between rows."""
from __future__ import annotations

from typing import TYPE_CHECKING

from claygrad.core.graph.intercept import differentiated
from claygrad.core.user_warnings import warn, warn_once
from claygrad.ops._geometry import axis as axis_of
from claygrad.ops._geometry import broadcast, product, text
from claygrad.ops._out import EXACT, MULTI_DOT
from claygrad.ops._reducing import no_complex_gradient
from claygrad.ops._registry import NAMESPACES, composite, conj, missing, op
from claygrad.ops._words import need
from claygrad.ops.linalg_distance import gap_gradient

if TYPE_CHECKING:
    from claygrad.core import Tensor


# Chains of matrices

def check_chain(tensors: list[Tensor]) -> None:
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    last = len(tensors) - 1
    for i, tensor in enumerate(tensors):
        if i in (0, last):
            if tensor.ndim not in (1, 2):
                raise RuntimeError(f"multi_dot(): the {'last' if i else 'first'} tensor must be 1D or 2D but got "
                                   f"{tensor.ndim}D")
        elif tensor.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {tensor.ndim}D")
        if tensor.dtype != tensors[0].dtype:
            raise RuntimeError("multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                               f"{tensors[0].dtype.c_name} and tensor {i} {tensor.dtype.c_name}")
        if i and tensors[i - 1].shape[-1] != tensor.shape[0]:
            raise RuntimeError(f"multi_dot(): tensors {i - 1} and {i} with shapes {text(tensors[i - 1].shape)} and "
                               f"{text(tensor.shape)} cannot be multiplied")


def best_splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to part each chain of matrices i..j for the fewest multiplications; matrix i is sizes[i] x sizes[i+1]."""
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    split = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            forms = [(cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            cost[i, j], split[i, j] = min(forms)
    return split


@composite(namespace="linalg", method=False, out=MULTI_DOT,
           samples=lambda t: [t.args([t(2, 3), t(3, 4)]), t.args([t(2, 3), t(3, 4), t(4, 2), t(2, 5)]),
                              t.args([t(3), t(3, 4), t(4)])],
           errors=lambda t: [(t.args([t(2, 3)]), RuntimeError, "multi_dot(): expected at least 2 tensors but got 1"),
                             (t.args([t(2, 3), t(2, 3)]), RuntimeError,
                              "multi_dot(): tensors 0 and 1 with shapes [2, 3] and [2, 3] cannot be multiplied")])
def multi_dot(tensors: list[Tensor]) -> Tensor:
    """The product of a chain of matrices, in the order with the fewest multiplications. Its ends may be vectors."""
    if (len(tensors) == 2 and tensors[0].ndim == tensors[1].ndim == 2 and tensors[0].dtype == tensors[1].dtype
            and tensors[0].shape[1] == tensors[1].shape[0]):
        return tensors[0].mm(tensors[1]).view((tensors[0].shape[0], tensors[1].shape[1]))
    tensors = list(tensors)
    check_chain(tensors)
    shape = (*tensors[0].shape[:-1], *tensors[-1].shape[1:])
    if tensors[0].ndim == 1:
        tensors[0] = tensors[0].unsqueeze(0)
    if tensors[-1].ndim == 1:
        tensors[-1] = tensors[-1].unsqueeze(1)
    split = best_splits([tensors[0].shape[0], *(tensor.shape[1] for tensor in tensors)])

    def chain(i: int, j: int) -> Tensor:
        return tensors[i] if i == j else chain(i, split[i, j]).mm(chain(split[i, j] + 1, j))

    return chain(0, len(tensors) - 1).view(shape)


@composite(method=False, samples=lambda t: [t.args(t(2, 3), t(3, 4), t(4, 2)), t.args(t(2, 3))])
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of a chain of matrices. Deprecated by PyTorch in favour of linalg.multi_dot."""
    warn("torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
         "torch.linalg.multi_dot instead, which accepts a list of two or more tensors rather than multiple "
         "parameters.")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    if any(matrix.ndim != 2 for matrix in matrices):
        wrong = next(matrix for matrix in matrices if matrix.ndim != 2)
        raise RuntimeError(f"Tensor dimension is {wrong.ndim}, expected 2 instead.")
    if len(matrices) == 1:
        return matrices[0].clone() if out is None else out.resize_(matrices[0].shape).copy_(matrices[0])
    return multi_dot(list(matrices), out=out)


# Bilinear forms

def check_bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for i, (n, m) in enumerate(zip(input1.shape[:-1], input2.shape[:-1])):
        if n != m:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {i}: got {n} and {m}")
    for name, size, want in (("input1", input1.shape[-1], weight.shape[1]),
                             ("input2", input2.shape[-1], weight.shape[2])):
        if size != want:
            raise RuntimeError(f"bilinear(): {name} size does not match weight size: got {size} but expected {want}")
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected "
                           f"{weight.shape[0]}")


@composite(namespace=("torch", "nn.functional"), method=False,
           samples=lambda t: [t.args(t(5, 3), t(5, 4), t(2, 3, 4), t(2)), t.args(t(2, 3), t(2, 4), t(2, 3, 4)),
                              t.args(t(3), t(4), t(2, 3, 4)), t.args(t(2, 2, 3), t(2, 2, 4), t(2, 3, 4), t(2))],
           errors=lambda t: [(t.args(t(5, 3), t(6, 4), t(2, 3, 4)), RuntimeError,
                              "bilinear(): input batch dimensions do not match at dim 0: got 5 and 6")])
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """A bilinear form per output: out[o] = input1 @ weight[o] @ input2 + bias[o]."""
    check_bilinear(input1, input2, weight, bias)
    no_complex_gradient("_trilinear", input1, input2, weight)
    batch, (outputs, n, m) = product(input1.shape[:-1]), weight.shape
    rows = input1.reshape((batch, n)).mm(weight.permute(1, 0, 2).reshape((n, outputs * m)))
    out = rows.view(batch, outputs, m).bmm(input2.reshape((batch, m, 1))).view((*input1.shape[:-1], outputs))
    return out if bias is None else out + bias


# Cross products

def check_cross(input: Tensor, other: Tensor, dim: int) -> None:
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = axis_of(dim, input.ndim)
    if not input.ndim or input.shape[axis] != 3 or other.shape[axis] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[axis]} and "
                           f"{other.shape[axis]}")
    if input.dtype != other.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.legacy} but found {other.dtype.legacy}")


@op(kernel="cross",
    out=EXACT, name="cross", node="LinalgCrossBackward0", namespace="linalg", method=False, check=check_cross,
    meta=lambda input, other: broadcast(input.shape, other.shape),
    samples=lambda t: [t.args(t(3), t(3)), t.args(t(2, 3), t(2, 3)), t.args(t(3, 4), t(3, 1), dim=0)],
    errors=lambda t: [(t.args(t(2, 3), t(3)), RuntimeError,
                       "linalg.cross: inputs must have the same number of dimensions."),
                      (t.args(t(2, 2), t(2, 2)), RuntimeError,
                       "linalg.cross: inputs dimension -1 must have length 3. Got 2 and 2")])
def linalg_cross(xp, input: Tensor, other: Tensor, *, dim: int = -1):
    """The cross product of vectors of three elements along an axis."""
    need(input, "fciuV", "cross")
    return xp.ascontiguousarray(xp.cross(input, other, axis=dim))
linalg_cross.rule(input=lambda g, other, dim: linalg_cross(conj(other), g, dim=dim),
                  other=lambda g, input, dim: linalg_cross(g, conj(input), dim=dim))


@composite(out=EXACT, samples=lambda t: [t.args(t(3), t(3), 0), t.args(t(4, 3), t(4, 3), 1),
                                        t.args(t(3, 4), t(3, 4), dim=0)],
           errors=lambda t: [(t.args(t(2, 2), t(2, 2), 0), RuntimeError,
                              "linalg.cross: inputs dimension 0 must have length 3. Got 2 and 2")])
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product of vectors of three elements along an axis (default: the first of size 3; deprecated)."""
    if dim is None:
        warn_once("cross", "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the "
                           "dim "
                  "explicitly or simply use torch.linalg.cross.\nThe default value of dim will change to agree with "
                  "that of "
                  "linalg.cross in a future release.")
        if 3 not in input.shape:
            raise RuntimeError("no dimension of size 3 in input")
        dim = tuple(input.shape).index(3)
    return linalg_cross(input, other, dim=dim)


# Distances

MODES = "use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"


def check_cdist(x1: Tensor, x2: Tensor, p: float, compute_mode: str) -> None:
    if (p == 2 and compute_mode == MODES[0] and x1.dtype.name in ("float32", "float64") and x1.dtype is x2.dtype
            and min(x1.ndim, x2.ndim) > 1 and x1.shape[-1] == x2.shape[-1]):
        return
    for name, x in (("X1", x1), ("X2", x2)):
        if not x.is_floating_point():
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype.legacy}")
        if x.dtype.itemsize == 2 and not (min(x1.ndim, x2.ndim) > 1 and by_product(x1, x2, p, compute_mode)):
            raise NotImplementedError(f"\"cdist\" not implemented for '{x.dtype.legacy}'")
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if compute_mode not in MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")


def by_product(x1, x2, p: float, compute_mode: str) -> bool:
    """Whether squares of distances come from one product of matrices: |a - b|^2 = |a|^2 - 2 a b + |b|^2."""
    if p != 2 or compute_mode == "donot_use_mm_for_euclid_dist" or not x1.shape[-1]:
        return False
    return compute_mode == "use_mm_for_euclid_dist" or max(x1.shape[-2], x2.shape[-2]) > 25


CLOSE = 2.0 ** -10          # squares below this share of |a|^2 + |b|^2 have lost too many digits
PAIRS = 1 << 20             # elements of differences that are held at a time


def pairs_of_rows(x1: Tensor, x2: Tensor) -> tuple[int, ...]:
    return *broadcast(x1.shape[:-2], x2.shape[:-2]), x1.shape[-2], x2.shape[-2]


hidden = {"function": False, "method": False, "out": False, "promote": "common", "meta": pairs_of_rows}


@op(kernel="cdist", name="_euclidean_dist", node="EuclideanDistBackward0", **hidden,
    samples=lambda t: [t.args(t(3, 4), t(2, 4))])
def euclidean(xp, x1: Tensor, x2: Tensor):
    """Distances by a product; those of rows that lie close together from their differences."""
    batch = broadcast(x1.shape[:-2], x2.shape[:-2])
    first, second = xp.einsum("...i,...i->...", x1, x1), xp.einsum("...i,...i->...", x2, x2)
    out = xp.matmul(x1, x2.swapaxes(-2, -1))
    out *= -2
    both = first[..., :, None] + second[..., None, :]
    out += both
    both *= CLOSE
    close = out < both
    if close.any():
        flat = xp.nonzero(close)
        wide1, wide2 = (xp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (x1, x2))
        step = PAIRS // x1.shape[-1] + 1
        for k in range(0, len(flat[0]), step):
            at = tuple(i[k:k + step] for i in flat)
            gap = wide1[at[:-1]] - wide2[(*at[:-2], at[-1])]
            out[at] = xp.einsum("ij,ij->i", gap, gap)
    return xp.sqrt(xp.maximum(out, 0, out=out), out=out)


@euclidean.rules
def euclidean_gradient(g: Tensor, x1: Tensor, x2: Tensor, out: Tensor, needs: tuple[bool, bool]) -> tuple:
    ratio = (g / out).masked_fill(out == 0, 0)
    return (x1 * ratio.sum(-1, True) - ratio @ x2 if needs[0] else None,
            x2 * ratio.sum(-2).unsqueeze(-1) - ratio.mT @ x1 if needs[1] else None)


@op(kernel="cdist", name="_cdist_forward", node="CdistBackward0", **hidden,
    samples=lambda t: [t.args(t(3, 4), t(2, 4), 2.0), t.args(t(3, 4), t(2, 4), 1.0)])
def direct(xp, x1: Tensor, x2: Tensor, p: float):
    """Distances from the differences themselves."""
    out = xp.zeros(pairs_of_rows(x1, x2), x1.dtype)
    for k in range(x1.shape[-1]):               # one column at a time: no array larger than the result
        gap = xp.abs(x1[..., :, None, k] - x2[..., None, :, k])
        if p == float("inf"):
            out = xp.maximum(out, gap)
        else:
            out += (xp.where(xp.isnan(gap), gap, gap != 0) if p == 0 else gap if p == 1 else gap * gap if p == 2
                    else gap ** p)
    if p in (0, 1, float("inf")):
        return out
    return xp.sqrt(out) if p == 2 else out ** (1 / p)


@direct.rules
def direct_gradient(g: Tensor, x1: Tensor, x2: Tensor, p: float, out: Tensor, needs: tuple[bool, bool]) -> tuple:
    if p in (1, 2) and x1.shape[:-2] == x2.shape[:-2] and x1.numel() and x2.numel() and not differentiated():
        result = direct_back(g, x1, x2, out, p, needs)
        return result[0] if needs[0] else None, result[1] if needs[1] else None
    rows = x1.shape[-2]
    step = max(PAIRS // max(product(out.shape) // max(rows, 1) * x1.shape[-1], 1), 1)
    if step >= rows:
        return slopes(g, x1, x2, p, out, needs)
    to_x1, to_x2 = [], None
    for k in range(0, rows, step):              # some rows at a time: no array much larger than PAIRS
        some_g, some_x1, some_out = (t.narrow(-2, k, min(step, rows - k)) for t in (g, x1, out))
        first, second = slopes(some_g, some_x1, x2, p, some_out, needs)
        to_x1.append(first)
        to_x2 = second if to_x2 is None or second is None else to_x2 + second
    return NAMESPACES["torch"]["cat"](to_x1, -2) if to_x1[0] is not None else None, to_x2


@op(kernel="cdist_backward", name="_cdist_backward", function=False, method=False, out=False,
    meta=lambda x1, x2, needs: [(x.shape if need else (0,), x.dtype) for x, need in zip((x1, x2), needs)])
def direct_back(xp, grad_output: Tensor, x1: Tensor, x2: Tensor, out: Tensor, p: float, needs: tuple):
    """The gradients for p = 1 and p = 2: what was compared moves apart along the difference, or its sign."""
    gap = x1[..., :, None, :] - x2[..., None, :, :]
    weight = grad_output if p == 1 else xp.where(out == 0, 0, grad_output / xp.where(out == 0, 1, out))
    each = (xp.sign(gap) if p == 1 else gap) * weight[..., None]
    nothing = xp.empty(0, dtype=x1.dtype)
    return each.sum(-2) if needs[0] else nothing, -each.sum(-3) if needs[1] else nothing
direct_back.rule(grad_output=missing, x1=missing, x2=missing, out=missing)


def slopes(g: Tensor, x1: Tensor, x2: Tensor, p: float, out: Tensor, needs: tuple[bool, bool]) -> tuple:
    gap = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    slope = gap_gradient(g, gap, p, out)
    return slope.sum(-2) if needs[0] else None, -slope.sum(-3) if needs[1] else None


@composite(method=False, native="cdist", parts=(direct,),
           samples=lambda t: [t.args(t(3, 4), t(2, 4)), t.args(t(2, 3, 4), t(2, 2, 4), 1.0),
                       t.args(t(3, 4), t(2, 4), float("inf")), t.args(t(3, 4), t(2, 4), 3.0), t.args(t(28, 2), t(2, 2)),
                       t.args(t(2, 3, 4), t(2, 4), 2.0, "use_mm_for_euclid_dist"),
                       t.args(t(3, 4), t(2, 4), 2.0, "donot_use_mm_for_euclid_dist")],
    errors=lambda t: [(t.args(t(2, 3), t(4, 2)), RuntimeError,
                       "X1 and X2 must have the same number of columns. X1: 3 X2: 2")])
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The distance between all rows of x1 and x2: out[..., i, j] = norm(x1[..., i, :] - x2[..., j, :], p).

    Euclidean distances of more than 25 rows come from a product of matrices, unless `compute_mode` is
    "donot_use_mm_for_euclid_dist"; those of rows that lie close together come from their differences all the same.
    """
    check_cdist(x1, x2, p, compute_mode)
    if by_product(x1, x2, p, compute_mode):
        out = euclidean(x1, x2)
        return out.view(out.shape)
    return direct(x1, x2, p)
