"""Valid programs that no declaration gives: autograd, indexing, storages, optimizers, files, threads."""

from __future__ import annotations

_OPTIMIZERS = ("SGD(p, lr=0.1, momentum=0.9, nesterov=True)", "Adam(p, lr=0.1, betas=(0.9, 0.99), eps=1e-8)", "AdamW(p, 0.1)",
               "NAdam(p)", "RAdam(p)", "Adamax(p)", "Adagrad(p, lr=0.1)", "Adadelta(p)", "RMSprop(p, momentum=0.5)", "Rprop(p)",
               "ASGD(p)", "Adafactor(p)", "LBFGS(p, history_size=2)", "SparseAdam(p)", "Muon([nn.Parameter(t(2, 3))])")
_SCHEDULES = ("StepLR(o, 2)", "MultiStepLR(o, [1, 2])", "ExponentialLR(o, 0.9)", "CosineAnnealingLR(o, 3)", "LambdaLR(o, lambda e: 0.5)",
              "CyclicLR(o, 0.1, 0.2)", "OneCycleLR(o, 0.1, total_steps=5)", "ReduceLROnPlateau(o)", "PolynomialLR(o)",
              "CosineAnnealingWarmRestarts(o, 2)", "SequentialLR(o, [torch.optim.lr_scheduler.StepLR(o, 2)], [1])")
_OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>", "==", "<", ">=")
_KEYS = ("0", "-1", "1:2", "::2", "...", "None", "True", "[0, 1]", "ints(2)", "ints(2), ints(2)", "t(2, 3) > 0", "..., ints(2)", "None, 0, ..., None",
         "(t(2) > 0), ints(2)", "ints(2, 2), :", "[True, False]", ":, [0, 1]", "slice(None, None, 2)", "np.array([0, 1])", "range(2)",
         "torch.tensor(1)", "ints(2, dtype='uint8')", "((0, 1), (0, 1))", "False", "ints(0), None")

_BY_HAND = """
x = leaf(2, 3); (x * x).sum().backward(); x.grad
x = leaf(2, 3); (x * x).backward(t(2, 3)); x.grad
x = leaf(2, 3); (x * x).sum().backward(retain_graph=True, create_graph=True, inputs=[x]); x.grad
x = leaf(2, 3); torch.autograd.grad((x * x).sum(), [x], grad_outputs=None, retain_graph=True, create_graph=True, allow_unused=True)
x = leaf(2, 3); torch.autograd.grad([x * x, x + 1], [x], [t(2, 3), t(2, 3)], is_grads_batched=False)
x = leaf(3); y = x * 2; torch.autograd.backward([y], [t(3)], inputs=[x])
x = leaf(3); h = x.register_hook(lambda g: g * 2); (x * 2).sum().backward(); h.remove(); x.grad
x = leaf(3); y = x * 2; y.retain_grad(); y.register_hook(lambda g: None); y.sum().backward(); y.grad
x = leaf(3); y = x * 2; y.grad_fn.register_hook(lambda gi, go: gi); y.sum().backward(); x.grad
x = leaf(3); y = x * 2; y.grad_fn.register_prehook(lambda go: go); y.sum().backward(); x.grad
x = leaf(3); x.register_post_accumulate_grad_hook(lambda p: p.zero_()); (x * 2).sum().backward(); x.grad
x = leaf(3); y = (x * x).exp(); y.grad_fn.next_functions[0][0](t(3))
x = leaf(3); y = x * x; y.grad_fn(t(3))
x = leaf(3); y = x.exp(); y.grad_fn._saved_result
x = leaf(3); y = (x * 2).add_(1); y.grad_fn.next_functions; y.grad_fn.metadata
x = leaf(2, 3); y = x * 1; v = y[0]; v.mul_(2); y.sum().backward(); x.grad
x = leaf(2, 3); y = x * 1; v = y.view(6); y.add_(v.view(2, 3)); v.sum().backward(); x.grad
x = leaf(2, 3); y = x.clone(); y[0, 1] = x.sum(); y[:, 0] *= 2; y.sum().backward(); x.grad
x = leaf(2, 3); y = x.clone(); y.copy_(t(3)); y.t()[0].fill_(1); y.sum().backward(); x.grad
x = leaf(4, 3); a, b = (x * 1).split(2); c = a * b; c.sum().backward(); x.grad
x = leaf(3); x.detach().requires_grad_(True); x.data = t(3); x.grad = t(3); x.grad
x = t(3); x.requires_grad = True; x.grad = None; x.backward_hooks
function().apply(leaf(3))
function(lambda ctx, x: x.mul_(2), lambda ctx, g: g).apply(leaf(3) * 1)
function(lambda ctx, x: (ctx.save_for_backward(x), x * x)[1], lambda ctx, g: g * ctx.saved_tensors[0]).apply(leaf(3))
function(lambda ctx, x: (ctx.mark_dirty(x), x)[1], lambda ctx, g: g).apply(leaf(3) * 1)
function(lambda ctx, x: (ctx.mark_non_differentiable(x), x + 1)[1], lambda ctx, g: g).apply(leaf(3))
function(lambda ctx, x: (ctx.set_materialize_grads(False), x + 1, x + 2)[1:], lambda ctx, g, h: g).apply(leaf(3))
function(lambda ctx, x, y: x + y, lambda ctx, g: (g, None)).apply(leaf(3), 2)
function(lambda ctx, x: x.view(3), lambda ctx, g: g).apply(leaf(3))
function(backward=lambda ctx, g: t(3)).apply(leaf(3)).sum().backward()
function(backward=giving(None)).apply(leaf(3))
torch.autograd.gradcheck(lambda x: x * x, (leaf(3, dtype='float64'),), eps=1e-6)
torch.autograd.functional.jacobian(lambda x: x * x, t(3), create_graph=True, vectorize=False)
torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), t(3))
torch.autograd.functional.vjp(lambda x: x * 2, t(3), t(3))
torch.autograd.functional.jvp(lambda x: x * 2, t(3), t(3))
torch.func.functional_call(nn.Linear(3, 2), {'weight': t(2, 3), 'bias': t(2)}, (t(2, 3),))
torch.utils.checkpoint.checkpoint(lambda x: x * x, leaf(3), use_reentrant=False)
torch.utils.checkpoint.checkpoint(lambda x: x * x, leaf(3), use_reentrant=True)
torch.utils.checkpoint.checkpoint_sequential([nn.Linear(3, 3), nn.ReLU()], 2, leaf(2, 3), use_reentrant=False)
c = torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x); c.__enter__(); y = leaf(3).exp(); c.__exit__(None, None, None); y.sum().backward()
c = torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: t(3)); c.__enter__(); y = F.conv2d(leaf(1, 2, 4, 4), leaf(2, 2, 3, 3)); c.__exit__(None, None, None); y.sum().backward()
c = torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x[..., :1]); c.__enter__(); y = torch.softmax(leaf(2, 3), -1).gather(1, ints(2, 3)); c.__exit__(None, None, None); y.sum().backward()
c = torch.autograd.graph.save_on_cpu(pin_memory=False); c.__enter__(); y = leaf(3).exp(); c.__exit__(None, None, None); y.sum().backward()
c = torch.no_grad(); c.__enter__(); y = leaf(3).exp_(); c.__exit__(None, None, None); y
torch.autograd.graph.get_gradient_edge(leaf(3) * 2).node.name()
torch.autograd.graph.increment_version(t(3))
torch.autograd.graph.register_multi_grad_hook([leaf(3)], lambda g: None, mode='all')
torch.autograd.set_detect_anomaly(True, check_nan=True); y = (leaf(3) * float('nan')); y.sum().backward()
s = t(2, 3).untyped_storage(); s.resize_(100); s[0], s.nbytes(), s.tolist()
s = t(2, 3).untyped_storage(); s.fill_(3); s[0] = 5; list(s)
x = t(2, 3); x.untyped_storage().resize_(0); x.sum(), x + 1, repr(x), x.tolist()
x = t(2, 3); x.untyped_storage().resize_(4); x.clone(); x.numpy(); x[1, 2]
x = t(2, 3); v = x[1]; x.untyped_storage().resize_(8); v.add_(1); v.sum()
x = leaf(2, 3); y = (x * 1).exp(); y.untyped_storage().resize_(0); y.sum().backward()
x = t(2, 3); y = torch.tensor([]); y.set_(x.untyped_storage(), 1, (2, 2), (1, 2)); y
x = t(2, 3); y = torch.tensor([]); y.set_(x); y.resize_(4, 4); x.resize_(1); y
x = t(6); x.resize_(3, 4); x.resize_as_(t(2)); x.storage_offset(), x.stride(), x.is_contiguous()
torch.UntypedStorage(10).resize_(20).fill_(1).tolist()
torch.storage.TypedStorage([1, 2, 3]).tolist()
x = t(3); torch.as_strided(x, (2, 2), (1, 1), 0).add(1)
x = t(2, 3); x.as_strided_((3, 2), (1, 3), 0); x.sum()
x = t(6); torch.empty_strided((2, 3), (1, 2)).copy_(x.view(2, 3))
g = torch.Generator(); g.manual_seed(3); torch.rand(3, generator=g), g.get_state(), g.initial_seed()
g = torch.Generator(); g.set_state(g.get_state()); torch.randperm(5, generator=g)
torch.random.set_rng_state(torch.random.get_rng_state()); torch.randn(3)
s = torch.Size([2, 3]); s.numel(), s[0], s[1:], s + (1,), hash(s)
torch.finfo(torch.float32).eps, torch.iinfo(torch.int8).max
torch.tensor([1, 2.5, [3]][:2], dtype=torch.float32, requires_grad=True)
torch.tensor([[1, 2], [3, 4]], dtype=torch.int8, device='cpu')
torch.as_tensor(np.arange(6).reshape(2, 3)[:, ::-1].copy(), dtype=torch.float64)
torch.from_numpy(np.arange(6.0)).view(2, 3)
torch.frombuffer(bytearray(16), dtype=torch.int32, count=2, offset=4)
torch.asarray([1, 2], copy=True)
torch.from_dlpack(t(3)); torch.utils.dlpack.from_dlpack(t(3).__dlpack__())
x = t(2, 3); a = x.numpy(); x.add_(1); del x; a.sum()
np.asarray(t(3)), np.add(t(3), 1), np.array([t(1), t(1)]), memoryview(t(3).numpy())
x = t(2, 3); iter(x); list(x); len(x); x[0] in x; bool(x[0, 0]); int(x[0, 0]); float(x[0, 0]); complex(x[0, 0])
x = ints(3); [1, 2, 3][x[0]]; range(x[1]); hash(x); x.__index__ and int(x[0])
copy = __import__('copy'); copy.copy(leaf(3)), copy.deepcopy(leaf(3)), copy.deepcopy(nn.Linear(2, 2))
repickled(t(2, 3)), repickled(nn.Linear(2, 3)), repickled(torch.Size([1])), repickled(torch.float32)
x = t(3); x.__setstate__(x.__reduce_ex__(2)[1][0])
x = t(3); x.attr = Late('collect'); del x
x = leaf(3); y = x * 2; y.attr = y; y.grad_fn.metadata['a'] = y; del x, y
x = sub(leaf(3)); y = x * 2; y.sum().backward(); type(y), x.grad
x = keen(t(3)); x + 1; torch.add(x, x); x.sum(); x[0]
load(saved(t(2, 3)), weights_only=True)
load(saved({'a': leaf(3), 'b': [t(2).t(), 1]}), weights_only=True, map_location='cpu')
load(spoilt(saved(t(2, 3)), 100, 3), weights_only=True)
load(archive(t(2, 3), b'K\\x02', b'K\\x7f'), weights_only=True)
load(archive(t(2, 3), b'K\\x03', b'K\\xff'), weights_only=True)
load(archive(t(2, 3), b'FloatStorage', b'DoubleStorage'), weights_only=True)
load(archive(t(2, 3), b'K\\x06', b'K\\x00'), weights_only=True)
load(archive({'a': 1}, b'K\\x01', b'h\\x01'), weights_only=True)
load(b'PK', weights_only=True)
load(pickle.dumps(t(2, 3)), weights_only=True)
torch.serialization.safetensors.load(torch.serialization.safetensors.save({'a': t(2)}))
nn.Linear(3, 2).load_state_dict({'weight': t(2, 3), 'bias': t(2)}, strict=True, assign=False)
m = nn.Linear(3, 2); m.register_forward_hook(lambda m, a, o: o); m.register_full_backward_hook(lambda m, gi, go: gi); m(leaf(2, 3)).sum().backward()
m = nn.Linear(3, 2); m.register_forward_pre_hook(lambda m, a: a); m.register_full_backward_pre_hook(lambda m, go: go); m(leaf(2, 3)).sum().backward()
m = nn.Linear(3, 2); m.weight = nn.Parameter(t(3, 3)); m.bias.data = t(5); m(t(2, 3))
m = nn.BatchNorm1d(3); m.running_mean.resize_(1); m(t(2, 3))
m = nn.BatchNorm1d(3); m.register_buffer('running_var', t(2)); m(t(2, 3)); m.eval(); m(t(2, 3))
m = nn.LSTM(3, 4); m.weight_ih_l0.data = t(2, 2); m(t(5, 1, 3))
m = nn.LSTM(3, 4, 2, bidirectional=True); m(t(5, 1, 3), (t(4, 1, 4), t(4, 1, 4)))
m = nn.GRU(3, 4, batch_first=True); m(nn.utils.rnn.pack_padded_sequence(t(2, 5, 3), [5, 3], batch_first=True))
nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.PackedSequence(t(5, 3), ints(3, high=2) + 1, None, None))
nn.utils.rnn.pad_sequence([t(2, 3), t(1, 3)], batch_first=True, padding_value=0.0, padding_side='right')
m = nn.Embedding(5, 3, padding_idx=1); m.weight.data = t(2, 3); m(ints(4, high=5))
m = nn.MultiheadAttention(4, 2); m.in_proj_weight.data = t(3, 4); m(t(3, 1, 4), t(3, 1, 4), t(3, 1, 4))
m = nn.Sequential(nn.Linear(3, 3), nn.ReLU()); m[0], m[-1], m[:1], m.append(nn.Linear(2, 2)), m(t(2, 3))
m = nn.ModuleDict({'a': nn.ReLU()}); m['a'], m.update({'b': nn.Tanh()}), list(m), nn.ModuleList([nn.ReLU()]).insert(0, nn.ReLU())
m = nn.ParameterList([nn.Parameter(t(2))]); m.append(t(3)); m[0]; list(m.parameters())
nn.utils.clip_grad_norm_([leaf(3)], 1.0, norm_type=2.0, error_if_nonfinite=False)
p = leaf(3); p.grad = t(3); nn.utils.clip_grad_norm_([p], 0.1); nn.utils.clip_grad_value_([p], 0.1); p.grad
nn.utils.vector_to_parameters(t(6), [leaf(2, 3)])
nn.utils.parametrize.register_parametrization(nn.Linear(2, 2), 'weight', nn.ReLU())
nn.utils.parametrizations.weight_norm(nn.Linear(2, 2), 'weight', 0)(t(2, 2))
nn.utils.prune.l1_unstructured(nn.Linear(2, 2), 'weight', 0.5)
nn.init.xavier_uniform_(t(2, 3)), nn.init.orthogonal_(t(3, 3)), nn.init.dirac_(t(2, 2, 3)), nn.init.sparse_(t(3, 3), 0.5)
nn.init.trunc_normal_(t(3), 0.0, 1.0, -2.0, 2.0), nn.init.kaiming_normal_(t(2, 3), 0, 'fan_in', 'relu')
p = leaf(3); p.grad = t(2, 3); o = torch.optim.SGD([p], 0.1); o.step()
p = leaf(3); p.grad = t(3); o = torch.optim.Adam([p]); o.step(); o.state[p]['exp_avg'].resize_(1); o.step(); p
p = leaf(3); p.grad = t(3); o = torch.optim.Adam([p]); o.step(); p.data = t(2); p.grad = t(2); o.step(); p
p = leaf(3); p.grad = t(3); o = torch.optim.SGD([p], 0.1, momentum=0.9); o.step(); o.state[p]['momentum_buffer'] = t(1); o.step(); p
p = leaf(3); o = torch.optim.Adam([p]); o.load_state_dict(o.state_dict()); o.add_param_group({'params': [leaf(2)], 'lr': 0.1}); o.zero_grad(set_to_none=True)
x = t(3); torch.cat([x, x], out=x)
x = t(6); torch.add(x[:3], x[3:], out=x[1:4])
x = t(2, 3); torch.mul(x, 2, out=x.t())
x = t(3, 3); torch.matmul(x, x, out=x); torch.linalg.inv(x, out=x)
x = t(2, 4).t()[:, :, None].expand(4, 2, 2**59); x.neg()
x = t(2, 4).t()[:, :, None].expand(4, 2, 2**60); torch.add(x, x), x * 2
x = wide(t(2), 2**61); x.contiguous()
x = wide(t(2), 2**62); x.clone()
x = wide(t(2), 2**62); torch.cat([x, x])
x = wide(t(2), 2**61); x.exp_(); x.view(-1); x.reshape(-1)
x = wide(t(2, dtype='int8'), 2**62); x.repeat(2, 2); x.to(torch.float64)
x = wide(t(1), 2**62); x[0], x[:3], x.t()[0, :2], x.unfold(0, 2, 1).shape, x.size(), x.numel()
x = POOL[0]; x.view(Index(3, 'shape'), 2)
x = POOL[0]; x[Index(1, 'shrink'), 2]
x = POOL[0]; x[Index(0, 'grow'), Index(1, 'swap')] = 3.0
x = POOL[2]; x[[Index(0, 'shrink'), 5]]
x = POOL[0]; torch.sum(x, dim=Index(1, 'shape'))
x = POOL[0]; x.narrow(1, Index(1, 'shrink'), 2)
x = POOL[0]; x.as_strided((2, Index(2, 'shrink')), (3, 1))
x = POOL[0]; torch.index_select(x, Index(1, 'shape'), ints(2))
x = POOL[0]; x.copy_(POOL[0]); x.add_(POOL[0], alpha=Lie(2, 'shrink'))
x = POOL[3]; (x * 2).backward(Like(np.ones((2, 3)), 'shrink'))
x = POOL[3]; y = x * 2; y.register_hook(giving(None, 'shrink')); y.sum().backward(); x.grad
torch.stack([POOL[1], Func(t(3), 'drop'), POOL[1]])
torch.cat(Long([t(2), t(2)]))
torch.tensor(Long([1, 2])), torch.tensor([Index(1, 'collect')])
x = POOL[0]; race(lambda: x.resize_(2000, 200), lambda: x + 1)
x = t(300, 300); race(lambda: x.untyped_storage().resize_(0), lambda: x.exp(), lambda: x.add_(1))
x = t(300, 300); race(lambda: x.resize_(1), lambda: x.resize_(300, 300), lambda: x @ x)
x = leaf(300, 300); race(lambda: (x * x).sum().backward(), lambda: (x * x).sum().backward())
x = leaf(100, 100); y = (x * x).sum(); race(lambda: y.backward(retain_graph=True), lambda: x.detach().add_(1))
x = t(1000); race(lambda: x.set_(t(1000)), lambda: x.sort(), lambda: x.cumsum(0))
x = t(10); race(lambda: setattr(x, 'data', t(20)), lambda: repr(x), lambda: x.tolist())
a = torch.amp.autocast('cpu', dtype=torch.bfloat16); a.__enter__(); y = t(2, 3) @ t(3, 2); a.__exit__(None, None, None); y
torch.amp.GradScaler('cpu', init_scale=2.0).scale(leaf(3) * 1)
torch.broadcast_tensors(t(2, 1), t(3)), torch.broadcast_shapes((2, 1), (3,)), torch.meshgrid(t(2), t(3), indexing='ij')
torch.einsum('ij,jk->ik', t(2, 3), t(3, 2)), torch.einsum('...i,i->...', t(2, 3), t(3))
torch.tensordot(t(2, 3), t(3, 2), dims=1), torch.tensordot(t(2, 3), t(3, 2), ([1], [0]))
torch.utils.data.default_collate([t(2), t(2)]), list(torch.utils.data.BatchSampler(range(3), 2, False))
list(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(t(4, 2)), batch_size=2, shuffle=True))
torch.set_default_dtype(torch.float64); torch.tensor(1.5); torch.get_default_dtype()
torch.set_printoptions(precision=4, threshold=10, edgeitems=3, linewidth=80); repr(t(100))
x = t(3); x.apply_(lambda v: v + 1); x.map_(t(3), lambda a, b: a + b); x
torch.vmap(lambda x: x * 2)(t(2, 3)) if hasattr(torch, 'vmap') else None
x = leaf(3); again(lambda y: y * x, x).sum().backward(); x.grad
x = t(3); x.real, x.T, x.mT if x.dim() > 1 else None, x.is_leaf, x.nbytes, x.itemsize, x.layout
torch.nn.functional.scaled_dot_product_attention(t(1, 2, 4, 8), t(1, 2, 5, 8), t(1, 2, 5, 8), attn_mask=(t(4, 5) > 0), dropout_p=0.0, is_causal=False)
torch.testing.assert_close(t(3), t(3), rtol=1e-3, atol=0.1, equal_nan=True, check_dtype=True)
torch.testing.assert_close({'a': [t(2), 1.0]}, {'a': [t(2), 1.0]}, rtol=0.0, atol=0.0)
torch.testing.make_tensor((2, 3), dtype=torch.float32, device='cpu', low=-1, high=1, requires_grad=True, noncontiguous=True)
torch.utils.pytree.tree_map(lambda x: x, {'a': [t(2), (t(3),)]}) if hasattr(torch.utils, 'pytree') else None
c = torch.view_as_complex(t(3, 2)); v = c.conj(); v.imag.mul_(2); torch.view_as_real(v.resolve_conj()), c.real, v.mH, v.view(3)
x = leaf(2, 2); y = torch.view_as_complex(x * 1); y.conj().imag.sin_(); y.abs().sum().backward(); x.grad
x = leaf(3); y = x * 1; v = y.view(3, 1); c = torch.no_grad(); c.__enter__(); v.t_(); c.__exit__(None, None, None); v.sum().backward(); x.grad
x = leaf(4); y = x * 1; v = y[1:]; c = torch.no_grad(); c.__enter__(); v.as_strided_((2,), (1,), 2); c.__exit__(None, None, None); v.sum().backward(); x.grad
x = leaf(3); torch.autograd.grad((x * x).sum(), [x], create_graph=True)[0].mul_(2).sum().backward(); x.grad
x = leaf(2, 3); y = x.max(1)[0]; y.grad_fn.register_prehook(lambda go: go); y.grad_fn.register_hook(lambda gi, go: gi); y.sum().backward(); x.grad
x = leaf(3); y = x.clone(); y[1:].tanh_(); g = torch.autograd.grad(y.sum(), x, create_graph=True)[0]; g.sum().backward(); x.grad
c = torch.inference_mode(); c.__enter__(); v = t(3); c.__exit__(None, None, None); v.data.add_(1); v.detach().unsqueeze_(0); v.add_(1)
x = t(2, 3); x.masked_scatter_(x > 0, x); x[0].masked_scatter_(x[0] > 0, x); x
x = t(4); x.addcmul_(x, x, value=2); x.lerp_(x, 0.5); x.copy_(x.flip(0)); x.index_add_(0, ints(4), x); x.scatter_(0, ints(4, high=4), x)
x = t(3, 3); x.addmm_(x, x.t()); x.addmv_(x, x[0]) if False else None; x.baddbmm_ if False else None; x.addr_(x[0], x[:, 0])
m = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(inplace=True), nn.MaxPool2d(2)); m(leaf(1, 2, 4, 4)).sum().backward()
m = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True); m(t(1, 3, 4), src_key_padding_mask=(t(1, 3) > 5)).sum().backward()
m = nn.GRU(3, 4); y, h = m(leaf(5, 1, 3), t(1, 1, 4)); y.mul_(2); (y.sum() + h.sum()).backward()
m = nn.Bilinear(2, 3, 4); m(t(5, 2), t(5, 3)); nn.CosineSimilarity(1)(t(2, 3), t(2, 3)); nn.PairwiseDistance()(t(2, 3), t(2, 3))
F.lp_pool2d(t(1, 2, 4, 4), leaf(1).sum(), 2), F.local_response_norm(t(1, 4, 3), 2, leaf(1).sum()), F.normalize(t(2, 3), 2.0, 1, leaf(1).sum())
torch.nested_tensor([t(2)]) if hasattr(torch, 'nested_tensor') else None
"""


PROGRAMS = [
    *_BY_HAND.strip().splitlines(),
    *(f"p = [leaf(2, 3), leaf(3)]\nfor q in p: q.grad = t(*q.shape)\no = torch.optim.{text}\no.step(lambda: (p[0] * p[1]).sum()); o.step(lambda: t(1)); p"
      for text in _OPTIMIZERS),
    *(f"o = torch.optim.SGD([leaf(3)], lr=0.1)\ns = torch.optim.lr_scheduler.{text}\no.step(); s.step({'1.0' if 'Plateau' in text else ''}); s.get_last_lr(); s.state_dict()"
      for text in _SCHEDULES),
    *(f"t(2, 3) {sign} t(3)" if sign != "@" else "t(2, 3) @ t(3)" for sign in _OPERATORS),
    *(f"x = ints(2, 3); y = x; x {sign}= 2; y" for sign in _OPERATORS if sign not in ("@", "==", "<", ">=", "/")),
    *(f"3 {sign} t(2, 3)" for sign in _OPERATORS if sign != "@"),
    *(f"x = leaf(2, 3)\nx[{key}]" for key in _KEYS),
    *(f"x = leaf(2, 3) * 1\nx[{key}] = t(1)\nx.sum().backward()" for key in _KEYS),
    *(f"x = t(2, 3)\nx[{key}] += 1\nx" for key in _KEYS),
]
