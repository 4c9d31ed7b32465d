"""Expressions with sparse tensors that both libraries evaluate: x in coordinates, u with entries of one place twice, c by rows.

d, m and v are dense, i are indices; h has dense dimensions besides.
"""

SAME = """
x|x.coalesce()|u|u.coalesce()|h|c|x._indices()|x._values()|x.indices()|x.values()|u._nnz()|x.stride()|x.is_contiguous()
x.storage_offset()|x.sparse_dim()|h.dense_dim()|h.sparse_dim()|x.is_sparse|c.is_sparse|c.is_sparse_csr|x.layout|c.layout
x.numel()|x.element_size()|len(x)|list(x)|x.dim()|x.size()|x.size(0)|x.device|x.is_cpu|x.is_leaf|x.type()|x.dtype|d.layout
x.to_dense()|u.to_dense()|h.to_dense()|c.to_dense()|d.to_sparse()|d.to_sparse(1)|d.to_sparse_csr()
d.to_sparse_csc()|d.to_sparse(layout=torch.sparse_csr)|x.to_sparse_csr()|u.to_sparse_csr()|c.to_sparse()|c.to_sparse_csc()
x.to_sparse()|torch.tensor(2.).to_sparse()|torch.tensor([0, 3, 0]).to_sparse()|torch.zeros(2, 3).to_sparse()
x[0]|x[0, 2]|x[-1]|x[None]|c[0]|c[0, 2]|h[1]|h[1, 0]|h.select(2, 1)|x.select(1, 2)|x.unbind()|x.unsqueeze(0)|x.unsqueeze(-1)
x.index_select(0, i[0])|x.index_select(1, torch.tensor([2, 0]))|x.narrow_copy(0, 0, 1)|h.index_select(2, torch.tensor([1]))
x.t()|x.T|x.mT|x.transpose(0, 1)|x.permute(1, 0)|c.t()|c.transpose(0, 1)|h.transpose(0, 1)|c.t().to_dense()
torch.cat([x, x])|torch.cat([x, x], 1)|torch.stack([x, x])|torch.cat([h, h], 2)|torch.cat([x, mk((2, 2))], 1)
x + x|x - x|x + x.double()|-x|x * 2|2 * x|x / 2|x // 2|x * x|x * d|d * x|x * v|d + x|d - x|d + u|c + c|c * c|c * 2|c + d|d + c
x * torch.tensor(2.)|x / torch.tensor(2.)|torch.add(x, x, alpha=2)|x.div(2, rounding_mode='trunc')|c * d|-c|h * 2|h + h
x.pow(2)|x ** 2|x.pow(0.5)|x.square()|u.pow(2)|x.abs()|x.sin()|x.tanh()|x.relu()|x.sqrt()|x.sign()|x.sgn()|x.round()|x.floor()
x.ceil()|x.trunc()|x.erf()|x.deg2rad()|x.rad2deg()|x.frac()|x.isnan()|x.isinf()|x.signbit()|x.nan_to_num()|u.sin()|c.sin()
c.relu()|c.abs()|c.sqrt()|torch.nn.functional.relu(x)|x.log1p()|x.any()|x.norm()|x.norm(1)|u.norm()
x.sum()|x.sum(0)|x.sum(-1)|x.sum((0, 1))|x.sum(0, keepdim=True)|x.sum(dtype=torch.float64)|x.int().sum()|h.sum(2)|h.sum(0)
h.sum((0, 1))|c.sum()|c.sum(1, keepdim=True)|c.sum(0, keepdim=True)|torch.sparse.sum(x)|torch.sparse.sum(x, 0)
torch.sparse.sum(x, [0, 1])|torch.sparse.sum(x, dtype=torch.float64)|torch.sparse.softmax(x, 1)|torch.sparse.softmax(x, 0)
torch.sparse.log_softmax(x, 1)|torch.sparse.softmax(u, 1)|torch.sparse.softmax(h, 2)
x @ m|u @ m|m @ x|c @ m|m @ c|x @ v|c @ v|torch.mm(x, m)|torch.mv(x, v)|torch.mm(x, x.t())|torch.spmm(x, m)|torch.smm(x, m)
torch.sparse.mm(x, m)|torch.sparse.mm(m, x)|torch.sparse.mm(x, x.t())|torch.hspmm(x, m)|torch.sparse.mm(c, m, 'sum')
torch.sparse.mm(c, m, 'mean')|torch.addmm(torch.ones(2, 2), x, m, beta=2, alpha=3)|torch.sparse.addmm(torch.ones(2, 2), x, m)
torch.bmm(torch.stack([x, x]), torch.ones(2, 3, 2))|torch.nn.functional.linear(x, d)|torch.nn.functional.linear(d, x)
torch.sparse.sampled_addmm(c, torch.ones(2, 2), torch.ones(2, 3))|torch.sspaddmm(x @ x.t(), x, m)|x.int() @ m.int()
torch.sparse.spdiags(d, torch.tensor([0, 1]), (3, 3))|d.sparse_mask(x)|x.sparse_mask(x.coalesce())|d.sparse_mask(c)
x.double()|x.to(torch.float64)|x.int()|x.bool()|x.cpu()|x.clone()|x.detach()|x.data|c.double()|c.clone()|x.type(torch.float64)
torch.zeros_like(x)|torch.empty_like(x)|x.new_zeros(2)|torch.zeros_like(c)|torch.zeros_like(x, layout=torch.strided)
torch.zeros(2, 3, layout=torch.sparse_coo)|torch.empty(2, 3, layout=torch.sparse_coo)|x.new_tensor([1.])
x.zero_()|x.copy_(x)|x.add_(x)|d.add_(x)|d.sub_(x)|x.mul_(2)|x.sub_(x)|x.div_(2)|c.mul_(2)|c.zero_()|x.coalesce().abs_()|x.neg_()
x.sparse_resize_((3, 3), 2, 0)|x.sparse_resize_and_clear_((3, 3), 2, 0)|x.resize_as_(x)|x.requires_grad_()|c.requires_grad_()
mk(i, v)|mk(i, v, (4, 4))|mk(i, v, dtype=torch.float64)|mk((2, 3))|mk((2, 3), dtype=torch.int64)|mk(i.float(), v)
mk([[0, 0], [0, 0]], [1., 2.]).coalesce()|mk(i, torch.ones(3, 2))|mk(i, v, (2, 3), requires_grad=True)|mk([[0, 0]], [True, True], (2,))
mk(i, v, (2, 3), is_coalesced=True).is_coalesced()|torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [1., 2., 3.])
torch.sparse_csc_tensor([0, 1, 3], [2, 0, 2], [1., 2., 3.])|torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [1., 2., 3.], (2, 4))
u.is_coalesced()|u.coalesce().is_coalesced()|(x * 2).is_coalesced()|x.t().is_coalesced()|(u * 2).is_coalesced()|d.to_sparse().is_coalesced()
torch.is_tensor(x)|torch.numel(x)|x.is_floating_point()|x.is_complex()|x.is_same_size(x)|x.conj()|x.real|isinstance(x, torch.Tensor)
torch.sparse.check_sparse_tensor_invariants.is_enabled()|x.grad|x.requires_grad|c._nnz()|c.crow_indices()|c.col_indices()|c.values()
"""

REFUSED = """
x.to_dense(torch.float64)|u.indices()|u.values()|x.untyped_storage()|x.storage()|x.data_ptr()|x.numpy()|x.tolist()|x.item()|x[:, 1:]|x[torch.tensor([0])]
x[5]|x.exp()|x.add(1)|x + d|x - d|x / d|x.reshape(3, 2)|x.view(-1)|x.squeeze()|torch.ones_like(x)|x.sigmoid()|x == x|x.max()
x.mean()|x.contiguous()|x.narrow(0, 0, 1)|x.nonzero()|x.nbytes|bool(x)|d.copy_(x)|x.copy_(d)|x.add_(d)|x.dot(x)|x.pow(0)|2 ** x
torch.addmm(x @ x.t(), x, m)|torch.softmax(x, 1)|x.resize_(3, 3)|torch.isfinite(x)|x.norm(2, 0)|torch.cat([x, d])|u.abs_()
torch.cat([x, mk((2, 2))], 0)|x.index_select(0, torch.tensor([5]))|torch.mm(x, torch.ones(2, 2))|x.any(0)|x.all()|x.std()
x.masked_fill(x, 0)|x.where(x, x)|x.gather(0, i)|x.flatten()|x.fill_(1)|x.uniform_()|x.clamp(0)|x.expand(2, 3)|x.bmm(x)
torch.equal(x, x)|torch.allclose(x, x)|x.index_add(0, i[0], d)|x.amax(1)|x.argmax()|x.sort()|x.unique()|c.sum(0)|c.coalesce()
x.crow_indices()|d.indices()|d.coalesce()|d.values()|d.is_coalesced()|d._nnz()|d.crow_indices()|d._indices()|c.indices()
c._indices()|c.stride()|c.is_contiguous()|c.numpy()|c.untyped_storage()|c.unsqueeze(0)|torch.rand_like(x)|torch.full_like(x, 1)
mk(i, v, (2,))|mk(i, v[:2])|mk(i, v, (2, 3, 4))|mk(torch.tensor([0, 1]), v)|mk(i - 1, v, (2, 3), check_invariants=True)
mk(i + 5, v, (2, 3), check_invariants=True)|torch.sparse_csr_tensor([0, 1], [2, 0, 2], [1., 2., 3.], (2, 3), check_invariants=True)
x.to_sparse(1)|x + mk((3, 3))|x.is_shared()|torch.linalg.norm(x)|x.lerp(x, 0.5)|torch.sparse.mm(x, v)
"""

# Scalars of tensors a (indices' values), b (dense 3 x 2), w (dense 2 x 3): compared with their gradients.
GRADIENTS = """
(s(a) @ b).pow(2).sum()|torch.sparse.mm(s(a), b).sin().sum()|(b @ s(a)).pow(2).sum()|torch.mm(s(a), s(a).t()).to_dense().pow(2).sum()
s(a).to_dense().pow(2).sum()|s(a).coalesce().values().pow(2).sum()|torch.sparse.sum(s(a))|torch.sparse.sum(s(a), 0).to_dense().pow(2).sum()
(s(a) * 2).to_dense().pow(2).sum()|(w + s(a)).pow(2).sum()|(s(a) + s(a)).to_dense().pow(2).sum()|s(a).t().to_dense().pow(2).sum()
torch.sparse.softmax(s(a), 1).to_dense().pow(2).sum()|torch.sparse.log_softmax(s(a), 1).to_dense().pow(2).sum()
torch.addmm(torch.ones(2, 2, dtype=torch.float64), s(a), b).pow(3).sum()|(w * w).to_sparse().to_dense().pow(2).sum()
w.to_sparse().coalesce().values().pow(3).sum()|(s(a) @ b[:, 0]).pow(2).sum()
s(a).clone().to_dense().pow(2).sum()|(s(a) * w).to_dense().pow(2).sum()
s(a).float().to_dense().pow(2).sum()|s(a).sum()|w.sparse_mask(s(a).detach().coalesce()).to_dense().pow(2).sum()
torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], a, (2, 3)).to_dense().pow(2).sum()|(s(a) / 3).to_dense().pow(2).sum()
(torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], a, (2, 3)) @ b).pow(2).sum()|s(a).neg().to_dense().pow(2).sum()
"""


def lines(table: str) -> list[str]:
    return [one for line in table.strip().splitlines() for one in line.split("|")]
