"""Expressions on tensors as Python objects that give the same in claygrad and in torch: one text, or one error."""

# x: a leaf [1, 2, 3]; y = x * 2; m: two elements on meta; b: one of bfloat16; a: a NumPy array [1, 2, 3], af: the
# same in float32; P and B: nn.Parameter and nn.Buffer; Sub: a subclass of Tensor without anything of its own.
EXPRESSIONS = {
    "lists, members and functions": """
1.0 in x
5 in x
torch.tensor(2.) in x
torch.tensor([1.,2.,4.]) in x
torch.tensor([1.,2.]) in x
"a" in x
None in x
[1.] in x
np.float32(1) in x
np.array([1.,9.,9.]) in x
True in x
1+0j in x
x in x
1 in torch.tensor(1)
1 in torch.tensor([])
float('nan') in torch.tensor([float('nan')])
1 in m
list(reversed(x))
reversed(torch.ones(2,3)).shape
reversed(torch.tensor(3.))
reversed(x)
reversed(y)
x.apply_(lambda v: v+1)
y.apply_(lambda v: v+1)
torch.ones(3).apply_(lambda v: v+1)
torch.ones(2,dtype=torch.int64).apply_(lambda v: v+1)
torch.ones(2,dtype=torch.int64).apply_(lambda v: v+1.7)
torch.ones(2,dtype=torch.bool).apply_(lambda v: not v)
torch.ones(2).apply_(lambda v: 'a')
torch.ones(2).apply_(3)
torch.ones(2,dtype=torch.bfloat16).apply_(lambda v: v+1)
torch.ones(2,dtype=torch.float16).apply_(lambda v: v+1)
torch.ones(2,dtype=torch.complex64).apply_(lambda v: v+1)
torch.ones(2,dtype=torch.uint8).apply_(lambda v: v+300)
torch.ones(2,2).t().apply_(lambda v: v+1)
m.apply_(lambda v: v)
torch.ones(3).map_(torch.arange(3.), lambda a,b: a+b)
torch.ones(3).map_(torch.arange(3), lambda a,b: a+b)
torch.ones(3).map_(torch.arange(2.), lambda a,b: a+b)
torch.ones(2,3).map_(torch.arange(3.), lambda a,b: a+b)
torch.ones(3).map_(3, lambda a,b: a+b)
torch.ones(3).map_(x, lambda a,b: a+b)
x.map_(torch.ones(3), lambda a,b: a+b)
y.map_(torch.ones(3), lambda a,b: a+b)
torch.ones(3).map2_(torch.ones(3), torch.ones(3), lambda a,b,c: a+b+c)
torch.ones(3).map2_(torch.ones(3), x, lambda a,b,c: a+b+c)
x.map2_(torch.ones(3), torch.ones(3), lambda a,b,c: a+b+c)
torch.ones(3).map2_(torch.ones(3), torch.ones(3,dtype=torch.int64), lambda a,b,c: a+b+c)
torch.ones(3).map2_(torch.ones(3), torch.ones(2), lambda a,b,c: a+b+c)
x.is_set_to(x)
x.is_set_to(x.detach())
x.is_set_to(x[:2])
x.is_set_to(x.clone())
x.is_set_to(3)
x.is_set_to(torch.ones(3,dtype=torch.float64))
x.is_shared()
x.is_pinned()
x.pin_memory()
x.is_pinned('cuda')
m.is_shared()
m.is_pinned()
torch.ones(2).resize_as_(torch.ones(2,3)).shape
x.resize_as_(torch.ones(2))
y.resize_as_(torch.ones(2))
torch.resize_as_(torch.ones(2), torch.ones(3)).shape
torch.ones(2,3).resize_as_(torch.ones(3,2).t()).stride()
torch.ones(2).resize_as_(3)
torch.ones(2).as_subclass(torch.nn.Parameter)
x.as_subclass(torch.nn.Parameter)
y.as_subclass(torch.nn.Parameter)
x.as_subclass(int)
x.as_subclass(torch.Tensor) is x
x.as_subclass(3)
x.type()
x.type(torch.float64)
x.type('torch.DoubleTensor')
x.type(torch.DoubleTensor)
x.type('torch.FloatTensor') is x
x.type('foo')
x.type(int)
x.type(float)
x.type(3)
x.type(dtype='torch.LongTensor')
y.type(torch.float64)
torch.ones(2,dtype=torch.bool).type()
b.type()
m.type()
torch.nn.Parameter(torch.ones(2)).type()
torch.ones(1,dtype=torch.complex64).type()
x.type('torch.ComplexFloatTensor')
x.type('FloatTensor')
""",
    "NumPy": """
np.sin(torch.ones(2))
np.add(torch.ones(3), torch.ones(3))
np.add(torch.ones(3), a)
np.add(a, torch.ones(3))
np.asarray(torch.ones(2))
np.asarray(x)
np.asarray(y)
np.array(torch.ones(2), dtype=np.int32)
np.array(torch.ones(2), copy=True)
np.asarray(torch.ones(2), dtype=np.float64)
torch.ones(2).__array__()
torch.ones(2).__array__(np.float64)
torch.ones(2).__array__(dtype=np.float64)
a / torch.ones(3)
a == torch.ones(3)
torch.ones(3) * a
torch.ones(3) + a
torch.ones(3) == a
torch.ones(3).double() @ a
np.float64(2) * torch.ones(3)
np.float64(2) + torch.ones(3)
np.float32(2) * torch.ones(3)
np.int64(2) * torch.ones(3)
np.int64(2) - torch.ones(3)
np.float64(2) / torch.ones(3)
np.float64(2) ** torch.ones(3)
np.float64(2) * x
np.float64(2) < torch.ones(3)
np.float64(2) == torch.ones(3)
torch.ones(3) * np.float64(2)
torch.ones(3) * np.int64(2)
torch.ones(3,dtype=torch.int64) * np.int64(2)
torch.ones(3,dtype=torch.int64) * np.float64(2)
torch.ones(3) * np.bool_(True)
np.argmax(torch.ones(3))
np.reshape(torch.ones(4),(2,2))
np.transpose(torch.ones(2,3))
np.squeeze(torch.ones(2,1))
np.dot(torch.ones(3), torch.ones(3))
np.matmul(torch.ones(3), torch.ones(3))
np.concatenate([torch.ones(3), torch.ones(3)])
np.stack([torch.ones(3), torch.ones(3)])
np.array([torch.ones(2), torch.ones(2)])
np.array([torch.tensor(1.), torch.tensor(2.)])
np.array([torch.tensor(1), torch.tensor(2)])
np.array([x[0], x[1]])
np.where(torch.tensor([True,False]), 1, 2)
np.exp(torch.tensor(1.))
np.sqrt(torch.ones(2,dtype=torch.int64))
np.isnan(torch.ones(2))
np.greater(torch.ones(2), 0)
np.allclose(torch.ones(2), torch.ones(2))
np.testing.assert_allclose(torch.ones(2), torch.ones(2))
np.testing.assert_allclose(x, x)
np.linalg.norm(torch.ones(2))
np.asarray(b)
b.numpy()
np.asarray(m)
np.asarray(torch.ones(2,dtype=torch.float16)).dtype
torch.ones(3).__array_wrap__(a)
torch.ones(3).__array_wrap__(a>0)
torch.ones(3).__array_wrap__(np.array(1.))
torch.Tensor.__array_priority__
hasattr(torch.Tensor,'__array_function__')
hasattr(torch.Tensor,'__array_interface__')
np.add(torch.ones(3), 1, out=af.copy())
np.add(a, a, out=torch.ones(3,dtype=torch.float64))
np.modf(torch.ones(2))
np.multiply.outer(torch.ones(2), torch.ones(2))
np.add.reduce(torch.ones(3))
memoryview(torch.ones(2))
bytes(torch.ones(2))
bytearray(torch.ones(2,dtype=torch.uint8))
af[torch.tensor(1)]
af[torch.tensor([1,2])]
af[torch.tensor([True,False,True])]
np.dtype(torch.float32)
np.ones(torch.tensor(3))
np.float32(torch.tensor(2.))
np.float64(torch.ones(2))
float(np.asarray(torch.tensor(2.)))
np.add(torch.ones(2,dtype=torch.float64), np.ones(2)).dtype
np.multiply(a, torch.ones(3))
np.asarray(torch.tensor([1,2]).t())
x.numpy()
x.numpy(force=True)
y.numpy(force=True).flags.owndata
np.asarray(Sub([1.,2.]))
isinstance(x.detach().numpy(), np.ndarray)
""",
    "parameters and buffers": """
copy.deepcopy(y)
P(torch.ones(2))
P()
P(None)
P([1.,2.])
P(3)
P(torch.ones(2), False)
P(torch.ones(2), requires_grad=False)
P(torch.tensor([1,2]))
P(torch.tensor([1,2]), requires_grad=False)
P(y)
P(y).is_leaf
P(x) is x
P(x).data_ptr()==x.data_ptr()
P(P(x))
type(P(x)), type(P(x).data), type(P(x).detach()), type(P(x)*1), type(P(x).clone()), type(P(x).view(3)), type(P(x)[0])
type(P(Sub([1.])))
isinstance(P(Sub([1.])), P)
repr(P(Sub([1.])))
isinstance(x, P)
isinstance(P(x), torch.Tensor)
P(torch.ones(2), 3)
P(data=torch.ones(2), requires_grad=True)
P.__new__(P)
P(torch.ones(2))._version
P(torch.ones(3).add_(1))._version
P(m)
P(torch.ones(2,dtype=torch.bfloat16))
str(P(torch.ones(2)))
f"{P(torch.ones(2))}"
f"{P(torch.tensor(2.))}"
f"{P(torch.tensor(2.)):.2f}"
f"{x[0]:.2f}"
copy.deepcopy(P(torch.ones(2)))
type(copy.deepcopy(P(torch.ones(2))))
copy.deepcopy(P(torch.ones(2), False)).requires_grad
P(torch.ones(2)).requires_grad_(False)
P.__name__, P.__module__
B(torch.ones(2))
type(B(torch.ones(2)))
isinstance(B(torch.ones(2)), B)
isinstance(B(torch.ones(2)), torch.Tensor)
isinstance(torch.ones(2), B)
B(torch.ones(2)).persistent
B(torch.ones(2), persistent=False).persistent
B()
B(None)
B([1.])
B.__module__
B(x).requires_grad
type(B(P(torch.ones(2))))
repr(copy.deepcopy(B(torch.ones(2))))
isinstance(copy.deepcopy(B(torch.ones(2))), B)
copy.deepcopy(B(torch.ones(2))).__dict__
B(torch.ones(2)).__dict__
P(torch.ones(2)).__dict__
P(Sub([1.])).__dict__
x.foo
x.__dict__
x.__dir__()[:3]
'volatile' in dir(x), '__cuda_array_interface__' in dir(x), 'add' in dir(x), '__add__' in dir(x)
type(x.grad)
""",
    "DLPack": """
x.__dlpack__()
y.__dlpack__()
m.__dlpack__()
m.__dlpack_device__()
np.from_dlpack(torch.ones(2))
np.from_dlpack(torch.ones(2)).flags.writeable
np.from_dlpack(x)
np.from_dlpack(b)
np.from_dlpack(torch.ones(2,dtype=torch.bool))
np.from_dlpack(torch.ones(2,dtype=torch.complex64))
np.from_dlpack(torch.ones(2,3).t()).strides
np.from_dlpack(torch.ones(5)[1::2]).strides
np.from_dlpack(torch.ones(2), copy=True)
np.from_dlpack(torch.ones(2), device='cpu')
torch.from_dlpack(np.ones(3))
torch.from_dlpack(np.ones(3,dtype=bool))
torch.from_dlpack(np.ones(3,dtype='>f8'))
torch.from_dlpack(np.ones(3,dtype='U3'))
torch.from_dlpack(np.ones((2,3)).T).stride()
torch.from_dlpack(torch.ones(2))
torch.from_dlpack(x)
torch.from_dlpack([1])
torch.from_dlpack(3)
torch.from_dlpack(torch.ones(2).__dlpack__())
torch.from_dlpack(np.ones(3), copy=True)
torch.from_dlpack(np.ones(3), copy=False)
torch.from_dlpack(np.ones(3), device='cpu')
torch.from_dlpack(np.ones(3), device='cuda')
torch.from_dlpack(np.ones(3), device='meta')
torch.ones(2).__dlpack__(stream=3)
torch.ones(2).__dlpack__(stream='a')
torch.ones(2).__dlpack__(stream=1)
torch.ones(2).__dlpack__(max_version=3)
torch.from_dlpack(torch.tensor(3.))
torch.from_dlpack(torch.empty(0,3))
torch.from_dlpack(np.float32(3))
torch.from_dlpack(np.zeros((2,1,3))).stride()
torch.from_dlpack(np.zeros((1,))[::2]).stride()
""",
    "the rest": """
x.__cuda_array_interface__
x.as_subclass(torch.Tensor)._is_view()
torch.ones(2).as_subclass(torch.Tensor)._is_view()
x.as_subclass(torch.nn.Parameter).is_leaf
torch.ones(2).resize_as_(torch.ones(2,3), memory_format=torch.contiguous_format).shape
torch.ones(2).resize_as_(the_template=torch.ones(2,3)).shape
torch.ones(2).map_(other=torch.ones(2), callable=lambda v,w:v)
torch.ones(2).is_set_to(tensor=torch.ones(2))
torch.ones(2).is_set_to(torch.ones(2).view(torch.int32))
torch.ones(0).is_set_to(torch.ones(0))
torch.isin(torch.ones(2), torch.ones(2), out=torch.zeros(3))
torch.isin(torch.ones(2), torch.ones(2), out=torch.zeros(2))
torch.isin(torch.tensor([True]), 1)
torch.isin(torch.tensor([1]), True)
torch.isin(torch.tensor([1]), torch.tensor([True]))
torch.isin(torch.tensor([1], dtype=torch.uint8), 257)
torch.isin(torch.tensor([300]), torch.tensor([44],dtype=torch.uint8))
torch.isin(torch.tensor([1]), 1j)
torch.isin(torch.tensor([16777217]), torch.tensor([16777216.]))
torch.isin(torch.tensor([16777217]), 16777216.)
torch.isin(torch.ones(2,dtype=torch.float16), torch.ones(2,dtype=torch.bfloat16))
torch.vander(torch.tensor([1.,2.]), N=None)
torch.vander([1,2])
torch.vander(x=torch.tensor([1.,2.]))
torch.vander(torch.tensor([2.,3.], dtype=torch.float16), 3)
torch.vander(torch.tensor([200,3],dtype=torch.uint8),3)
torch.vander(torch.ones(2, device='meta'))
torch.unravel_index(m.long(), (2,3))
torch.unravel_index(torch.tensor([[1,2],[3,4]]), (2,3))[0]
torch.unravel_index(torch.tensor([1]), [2,3])
torch.unravel_index(torch.tensor([1,2],dtype=torch.int32), (2,3))[0].dtype
torch.unravel_index(torch.tensor([1,2],dtype=torch.uint8), (2,3))[0].dtype
torch.unravel_index(torch.tensor([], dtype=torch.int64), (2,3))
torch.unravel_index(torch.tensor(5), (2,3))[1]._base
torch.unravel_index(torch.tensor(5), (True,3))
""",
}
