"""Random numbers: generators, and the filling of tensors in the order that PyTorch fills them."""
import os

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from claygrad.core.op cimport Op
from claygrad.core.data.device cimport ACCELERATOR, CPU, cpu, device
from claygrad.core.data.dtype cimport (C128, C32, C64, CAT_COMPLEX, CAT_FLOAT, F16, F32, F64, I16, I32, I64, N_NATIVE, U16, U32, U8,
                                       default_float, dtype, of_code)
from claygrad.core.data.device cimport parse as parse_device
from claygrad.core.data.dtype import prefix
from claygrad.core.graph.inplace cimport check_writable, rebase, write_layout
from claygrad.core.data.kernels cimport copy_strided
from claygrad.core.data.layout cimport (Layout, SPARSE, bytes_of, dense, fresh, fresh_like, fresh_strided, is_broadcast,
                                        on_accelerator, on_cpu)
from claygrad.core.data.transfer cimport to_host
from claygrad.core.graph.conj_view cimport resolved, write_lazy
from claygrad.core.errors import no_elements
from claygrad.core.graph.node cimport Node
from claygrad.core.graph.record cimport record_inputs, record_output, should_record
from claygrad.core.data.storage cimport Storage, new_storage
from claygrad.core.tensor cimport Tensor, mark_created, new_tensor

# Distributions. `a` and `b` are the parameters: bounds, mean and deviation, rate, probability, or start and width of a
# range.
cdef enum:
    UNIFORM = 0
    NORMAL = 1
    LOG_NORMAL = 2
    EXPONENTIAL = 3
    CAUCHY = 4
    GEOMETRIC = 5
    BERNOULLI = 6
    RANGE = 7
    FULL_RANGE = 8
    NATURAL_RANGE = 9
    PERMUTATION = 10
    BERNOULLI_EACH = 11

KINDS = {"uniform": UNIFORM, "normal": NORMAL, "log_normal": LOG_NORMAL, "exponential": EXPONENTIAL, "cauchy": CAUCHY,
         "geometric": GEOMETRIC, "bernoulli": BERNOULLI, "range": RANGE, "full_range": FULL_RANGE,
         "natural_range": NATURAL_RANGE, "permutation": PERMUTATION, "bernoulli_each": BERNOULLI_EACH}


cdef object _chance():
    """A nondeterministic seed of 53 bits, which a float holds exactly."""
    return int.from_bytes(os.urandom(8), "little") & ((1 << 53) - 1)


@cython.binding(False)
cdef class Generator:
    """A stream of random numbers with a state of its own. A seed gives the numbers that PyTorch draws on the CPU."""

    def __cinit__(self, device=None):            # no-cython-lint: torch's name
        self.where = _device_of(device)
        engine_seed(self.engine, 67280421310721)

    @property
    def device(self):
        return self.where

    def manual_seed(self, seed, /):
        """Start the stream that belongs to a seed; returns the generator."""
        if isinstance(seed, bool) or not hasattr(seed, "__index__") or isinstance(seed, Tensor):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        number = seed.__index__()
        if not -2**63 <= number < 2**64:
            raise ValueError("Overflow when unpacking long long")
        engine_seed(self.engine, number & 0xffffffffffffffff)
        return self

    def seed(self):
        """Seed from the system's random numbers; returns the seed."""
        number = _chance()
        engine_seed(self.engine, number)
        return number

    def initial_seed(self):
        """The seed of the running stream."""
        return self.engine.seed

    def get_state(self):
        """The whole state as a tensor of bytes, in PyTorch's layout: states may be exchanged with it."""
        cdef int64_t shape[1]
        shape[0] = STATE_BYTES
        cdef Layout v = fresh(of_code(U8), 1, shape)
        engine_save(self.engine, v.data())
        return new_tensor(v)

    def set_state(self, new_state, /):
        """Go on from a state that get_state() gave; returns the generator."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a {prefix()}.ByteTensor, but got {type(new_state).__name__}")
        cdef Layout v = (<Tensor>new_state).layout
        if v.dtype.code != U8 or not v.contiguous or not on_cpu(v):
            raise TypeError(f"RNG state must be a {prefix()}.ByteTensor")
        if v.numel != STATE_BYTES:
            raise RuntimeError(f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG state size "
                               f"to be {v.numel}")
        if not engine_load(self.engine, v.data()):
            raise RuntimeError("Invalid mt19937 state")
        return self

    def clone_state(self):
        """A new generator in the same state."""
        cdef Generator twin = Generator.__new__(Generator)
        twin.engine, twin.where = self.engine, self.where
        return twin

    def get_offset(self):
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset, /):
        raise RuntimeError("CPU Generator does not use offset")

    def graphsafe_get_state(self):
        raise NotImplementedError("graphsafe_get_state is not supported in this Generator")

    def graphsafe_set_state(self, state, /):
        raise NotImplementedError("graphsafe_set_state is not supported in this Generator")

    def __reduce__(self):
        cdef char data[5056]
        engine_save(self.engine, data)
        return Generator, (self.where,), data[:STATE_BYTES]

    def __setstate__(self, bytes saved):
        if len(saved) != STATE_BYTES or not engine_load(self.engine, <char*>saved):
            raise RuntimeError("Invalid mt19937 state")


cdef device _device_of(object spec):
    """The device that a generator is asked for; None: the CPU."""
    cdef device where = cpu if spec is None else spec if isinstance(spec, device) else device(spec)
    if where.kind == CPU:
        return cpu
    if where.kind == ACCELERATOR:
        try:
            return parse_device(where)
        except AssertionError:
            if where.type == "cuda":
                raise RuntimeError("Cannot get CUDA generator without ATen_cuda library.\n"
                                   "  no CUDA device can be used by this process; a generator of the CPU is Generator()") from None
            raise RuntimeError(f"Cannot get {where.type.upper()} generator without a device of that type.") from None
    raise RuntimeError(f"{where.type.upper()} device type not an accelerator.")


cdef Generator _default = Generator()
_default.manual_seed(_chance())
default_generator = _default


cdef inline Generator _pick(object generator):
    return _default if generator is None else <Generator?>generator


cdef dict _generators = {}                       # accelerators -> the generator that each draws from if none is given


def generator_of(device where):
    """The generator that draws for tensors on a device."""
    if where.kind != ACCELERATOR:
        return _default
    found = _generators.get(where)
    if found is None:
        found = Generator(where)
        found.manual_seed(_default.initial_seed())
        _generators[where] = found
    return found


def generators_in_use():
    """The generators of accelerators that were asked for."""
    return list(_generators.values())


cdef Generator _pick_for(object generator, Layout to):
    """The generator of a call that fills a tensor on an accelerator. Its numbers are made in main memory."""
    return _pick_on(generator, to.storage.where)


cdef Generator _pick_on(object generator, device where):
    cdef Generator g
    if generator is None:
        return generator_of(where)
    g = <Generator?>generator
    if g.where is not where:
        _refuse(g, where)
    return g


def check_generator(generator, device where):
    """Raise if a generator is another device's than the one that the numbers are for. On meta nothing is drawn."""
    if generator is not None and where.type != "meta" and (<Generator?>generator).where is not where:
        _refuse(<Generator>generator, where)


def host_twin(generator, device where):
    """The generator that draws for a device, and one of the CPU in the same state, for work that is done there."""
    cdef Generator g = _pick_on(generator, where)
    cdef Generator twin = Generator.__new__(Generator)
    twin.engine, twin.where = g.engine, cpu
    return g, twin


def follow(Generator generator, Generator twin):
    """Go on where the twin has come to."""
    generator.engine = twin.engine


cdef int _refuse(Generator g, device where) except -1:
    """A generator of another device than the numbers are for."""
    if g.where.type == where.type:
        raise RuntimeError(f"Expected a '{where}' generator device but found '{g.where}'")
    raise RuntimeError(f"Expected a '{where.type}' device type for generator but found '{g.where.type}'\n"
                       f"  make it there: Generator(device={where.type!r}); or leave it out")


cdef Layout _beside(Layout v):
    """A new layout on the CPU with the shape and strides of another."""
    return fresh_strided(v.dtype, v.ndim, v.shape, v.strides) if dense(v) else fresh_like(v)


# Note [Order of a fill]
# PyTorch walks a tensor in the order of its memory: the axis with the smallest stride first, whatever the order of
# the axes. Axes of equal stride go by size; an axis of stride 0 cannot be compared and stays where it is.
cdef void _walk(Layout v, int* order) noexcept:
    """The axes from the slowest to the fastest."""
    cdef int n = v.ndim, i, at, before, a, b, verdict
    for i in range(n):
        order[i] = n - 1 - i                      # fastest first, until the end
    for i in range(1, n):
        at = i
        before = i - 1
        while before >= 0:
            a = order[before]
            b = order[at]
            verdict = 0
            if v.strides[a] != 0 and v.strides[b] != 0:
                if v.strides[a] != v.strides[b]:
                    verdict = 1 if v.strides[a] > v.strides[b] else -1
                elif v.shape[a] > v.shape[b]:
                    verdict = 1
            if verdict < 0:
                break
            if verdict > 0:
                order[before], order[at] = b, a
                at = before
            before -= 1
    for i in range(n // 2):
        order[i], order[n - 1 - i] = order[n - 1 - i], order[i]


cdef bint _is_block(Layout v, int* order) noexcept:
    """Whether that walk goes through memory without gaps."""
    cdef int i
    cdef int64_t step = 1
    for i in range(v.ndim - 1, -1, -1):
        if v.shape[order[i]] != 1:
            if v.strides[order[i]] != step:
                return False
            step *= v.shape[order[i]]
    return True


cdef int _drawn_as(int kind, int code) except -1:
    """The dtype with a kernel that has elements of the same size."""
    if code < C32 and kind in (RANGE, NATURAL_RANGE, FULL_RANGE, BERNOULLI, GEOMETRIC, PERMUTATION):
        return I16 if code == U16 else I32 if code == U32 else I64
    if code == C32 and (kind == UNIFORM or kind == NORMAL):
        return F16
    loop = {UNIFORM: "check_uniform_bounds", NORMAL: "normal_kernel_cpu", RANGE: "random_update_from_to", PERMUTATION: "randperm",
            BERNOULLI: "bernoulli_scalar_cpu_"}.get(kind, "random_kernel_cpu")
    raise NotImplementedError(f"\"{loop}\" not implemented for '{of_code(code).legacy}'")


cdef int _draw(Generator g, int kind, int code, void* out, int64_t n, a, b, bint blocks) except -1:
    """Fill n elements; a complex element is two real ones, an unsigned one has the bits of a signed one."""
    if code >= N_NATIVE:
        code = _drawn_as(kind, code)
        n = 2 * n if code == F16 else n
    if code == C64 or code == C128:
        code = F32 if code == C64 else F64
        n *= 2
    if kind == UNIFORM:
        fill_uniform(g.engine, code, out, n, a, b)
    elif kind == NORMAL:
        fill_normal(g.engine, code, out, n, a, b, blocks and n >= 16)
    elif kind == BERNOULLI:
        fill_bernoulli(g.engine, code, out, n, a)
    elif kind == RANGE:
        fill_range(g.engine, code, out, n, b, a)
    elif kind == NATURAL_RANGE:
        fill_natural_range(g.engine, code, out, n)
    elif kind == FULL_RANGE:
        fill_full_range(g.engine, code, out, n)
    elif kind == LOG_NORMAL:
        fill_log_normal(g.engine, code, out, n, a, b)
    elif kind == EXPONENTIAL:
        fill_exponential(g.engine, code, out, n, a)
    elif kind == CAUCHY:
        fill_cauchy(g.engine, code, out, n, a, b)
    elif kind == GEOMETRIC:
        fill_geometric(g.engine, code, out, n, a)
    elif kind == PERMUTATION:
        fill_permutation(g.engine, code, out, n)
    return 0


cdef int _fill(Generator g, int kind, Layout v, a, b, Layout p) except -1:
    """Fill the elements that a layout reaches, in PyTorch's order."""
    cdef int order[64]
    cdef int i
    cdef int64_t shape[64]
    cdef int64_t steps[64]
    cdef int64_t packed[64]
    cdef int64_t item = v.dtype.itemsize
    cdef Storage aside
    cdef char* to = v.data()
    cdef bint direct = v.contiguous
    if v.numel == 0:
        return 0
    if direct and p is None:
        return _draw(g, kind, v.dtype.code, to, v.numel, a, b, True)
    _walk(v, order)
    if not direct:
        direct = _is_block(v, order)
    for i in range(v.ndim):
        shape[i] = v.shape[order[i]]
        steps[i] = v.strides[order[i]] * item
    if not direct:
        aside = new_storage(bytes_of(v.dtype, v.ndim, v.shape))
        to = aside.ptr
        _pack(shape, packed, v.ndim, item)
    if p is None:
        _draw(g, kind, v.dtype.code, to, v.numel, a, b, False)
    else:
        _draw_each(g, v, order, shape, to, p)
    if not direct:
        copy_strided(to, packed, v.data(), steps, shape, v.ndim, item)
    return 0


cdef void _pack(int64_t* shape, int64_t* steps, int ndim, int64_t item) noexcept:
    """Byte strides of a block of that shape."""
    cdef int i
    for i in range(ndim - 1, -1, -1):
        steps[i] = item
        item *= shape[i]


cdef int _draw_each(Generator g, Layout v, int* order, int64_t* shape, char* to, Layout p) except -1:
    """Bernoulli draws with a probability of their own, taken from p in the order of v's walk."""
    cdef int64_t steps[64]
    cdef int64_t packed[64]
    cdef int64_t item = p.dtype.itemsize
    cdef int i, k
    cdef Storage chances = new_storage(bytes_of(p.dtype, v.ndim, v.shape))
    for i in range(v.ndim):
        k = order[i] - (v.ndim - p.ndim)                 # p broadcasts to v
        steps[i] = 0 if k < 0 or p.shape[k] == 1 else p.strides[k] * item
    _pack(shape, packed, v.ndim, item)
    copy_strided(p.data(), steps, chances.ptr, packed, shape, v.ndim, item)
    if fill_bernoulli_each(g.engine, v.dtype.code, to, p.dtype.code, chances.ptr, v.numel) >= 0:
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be "
                           "improved?  If so, please report an enhancement request to PyTorch.)")
    return 0


def fill(Op op, Tensor t, int kind, generator, a=0, b=0, Tensor p=None):
    """Fill a tensor in place with random numbers; `op` names the recorded node, whose gradient is zero. Returns the tensor."""
    cdef PyObject* slots[2]
    cdef Layout v = t.layout, out
    cdef Node node = None
    cdef bint record
    cdef Generator g = _pick(generator)
    slots[0] = <PyObject*>t
    slots[1] = <PyObject*>p
    record = should_record(op, slots)
    check_writable(t, record)
    if v.numel and is_broadcast(v):
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single "
                           "memory location. Please clone() the tensor before performing the operation.")
    if record:
        node = record_inputs(op, slots)
    if on_cpu(v):
        if g.where is not cpu:
            _refuse(g, cpu)
        v.storage.before_write()
        if v.bits:
            out = fresh_like(v)
            _fill(g, kind, out, a, b, None if p is None else resolved(p.layout))
            write_lazy(v, out)
        else:
            _fill(g, kind, v, a, b, None if p is None else resolved(p.layout))
    elif on_accelerator(v):
        v.storage.before_write()
        out = _beside(v)
        _fill(_pick_for(generator, v), kind, out, a, b, None if p is None else to_host(resolved(p.layout)))
        write_layout(v, out)
    elif v.bits & SPARSE:
        raise no_elements()
    t.bump()
    if record:
        rebase(t, node)
    return t


cdef bint _simple_size(tuple size, int64_t* shape) except -1:
    """Read a size given as ints or one tuple; False if one is negative or huge."""
    cdef int i = 0
    cdef int64_t n, total = 1
    if not size:
        return False
    if len(size) == 1 and isinstance(size[0], tuple):
        size = <tuple>size[0]
    if len(size) > 16:
        return False
    for value in size:
        if type(value) is not int or not 0 <= value < 2**47:
            return False
        n = value
        if n and total > (<int64_t>1 << 47) // n:
            return False
        shape[i] = n
        total *= n
        i += 1
    return True


def filled(int kind, size, dict named, kind_of_number=None, a=0, b=1):
    """A new tensor of random numbers in the common case; None in all others.

    The common case: on the CPU, contiguous, a size of ints or of another tensor, of the default dtype (or the other tensor's,
    or `kind_of_number`), and of the `named` options of a factory only generator, requires_grad and a floating dtype.
    """
    cdef int64_t shape[16]
    cdef Layout v
    cdef Tensor out
    cdef Generator g = _default
    cdef dtype d = default_float() if kind_of_number is None else kind_of_number
    cdef bint leaf = False
    if isinstance(size, Tensor):
        v = (<Tensor>size).layout
        if not v.contiguous or not on_cpu(v) or v.dtype.category < CAT_FLOAT:
            if v.bits & SPARSE:
                raise no_elements()
            return None
        d = v.dtype
    for key, value in named.items():
        if key == "generator" and isinstance(value, Generator):
            g = <Generator>value
            if g.where is not cpu:
                return None
        elif key == "dtype" and kind_of_number is None and isinstance(value, dtype) \
                and (<dtype>value).category >= CAT_FLOAT:
            d = <dtype>value
        elif key == "requires_grad" and kind_of_number is None and (value is True or value is False):
            leaf = value
        elif value is not None or key not in ("generator", "dtype", "out", "layout", "device", "memory_format"):
            return None
    if isinstance(size, Tensor):
        v = fresh_strided(d, v.ndim, v.shape, v.strides)
    elif parse_device(None) is cpu and _simple_size(size, shape):
        v = fresh(d, len(size[0] if isinstance(size[0], tuple) else size), shape)
    else:
        return None
    if kind == NORMAL and d.category == CAT_COMPLEX:
        b = 1 / 2**0.5                            # real and imaginary part have half of the variance each
    if v.numel:
        _draw(g, kind, d.code, v.data(), v.numel, a, b, True)
    out = mark_created(new_tensor(v))
    out.leaf_grad = leaf
    return out


def record_draws(Op op, Tensor out, *inputs):
    """Record a node for random numbers with tensor parameters, which have zero gradients. Returns the tensor."""
    cdef PyObject* slots[2]
    cdef int i = 0
    for x in inputs:
        slots[i] = <PyObject*>x
        i += 1
    if should_record(op, slots):
        record_output(record_inputs(op, slots), out)
    return out


cdef Storage _block(Layout v):
    """A copy of the elements in row-major order."""
    cdef Storage out = new_storage(bytes_of(v.dtype, v.ndim, v.shape))
    cdef int64_t steps[64]
    cdef int64_t packed[64]
    cdef int i
    for i in range(v.ndim):
        steps[i] = v.strides[i] * v.dtype.itemsize
    _pack(v.shape, packed, v.ndim, v.dtype.itemsize)
    copy_strided(v.data(), steps, out.ptr, packed, v.shape, v.ndim, v.dtype.itemsize)
    return out


cdef bint _away(Tensor t):
    return on_accelerator(t.layout)


cdef Tensor _hosted(Tensor t):
    """The same on the CPU, where random numbers are generated."""
    return None if t is None else new_tensor(to_host(t.layout))


def sample(Tensor weights, int64_t count, Tensor draws or None, Tensor out, generator):
    """Categories drawn from rows of weights into `out`: with replacement, or without it by exponential draws.

    Returns 0, or what is wrong with the weights: 1 a negative one, 2 one that is not finite, 3 a row of zeros.
    """
    cdef Tensor aside
    if _away(out):
        aside = _hosted(out)
        wrong = sample(_hosted(weights), count, _hosted(draws), aside, _pick_for(generator, out.layout))
        write_layout(out.layout, aside.layout)
        return wrong
    cdef Layout w = resolved(weights.layout)
    cdef int64_t rows = w.shape[0] if w.ndim == 2 else 1
    cdef int64_t n = w.shape[w.ndim - 1]
    cdef int64_t* to = <int64_t*>out.layout.data()
    cdef Storage w_block = _block(w)
    cdef Storage q_block
    if draws is None:
        return <int>sample_with_replacement(_pick(generator).engine, w.dtype.code, w_block.ptr, rows, n, to, count)
    q_block = _block(draws.layout)
    sample_without_replacement(w.dtype.code, w_block.ptr, q_block.ptr, rows, n, to, count)
    return 0


cdef void* _data(Tensor t, list blocks):
    """The elements in row-major order; what had to be copied for that is kept in `blocks`."""
    if t.layout.contiguous and not t.layout.bits:
        return t.layout.data()
    cdef Storage block = _block(resolved(t.layout))
    blocks.append(block)
    return block.ptr


def draw_each(str kind, Tensor out, Tensor a, Tensor b or None, generator):
    """Fill `out`, new and contiguous, with draws whose parameters are a (and b), of its shape.

    Returns False if a parameter is not allowed.
    """
    cdef Tensor aside
    if _away(out):
        aside = _hosted(out)
        allowed = draw_each(kind, aside, _hosted(a), _hosted(b), _pick_for(generator, out.layout))
        write_layout(out.layout, aside.layout)
        return allowed
    cdef list blocks = []
    cdef Generator g = _pick(generator)
    cdef int code = a.layout.dtype.code
    cdef int64_t n = out.layout.numel
    cdef void* x = _data(a, blocks)
    cdef void* to = out.layout.data()
    if kind == "gamma":
        draw_gamma(g.engine, code, x, to, n)
    elif kind == "gamma_wide":
        draw_gamma_wide(g.engine, code, x, <double*>to, n)
    elif kind == "binomial" and b is not None:
        draw_binomial(g.engine, code, x, _data(b, blocks), to, n)
    else:
        return draw_poisson(g.engine, code, x, to, n) < 0
    return True


def draw_grad(Tensor out, Tensor a, Tensor b, Tensor c=None):
    """Fill `out` with derivatives of gamma draws (shape a, draw b), or of Dirichlet ones (draw a, shape b, total c)."""
    cdef Tensor aside
    if _away(out):
        aside = _hosted(out)
        if c is None:
            draw_grad(aside, _hosted(a), _hosted(b))
        else:
            draw_grad(aside, _hosted(a), _hosted(b), _hosted(c))
        write_layout(out.layout, aside.layout)
        return
    cdef list blocks = []
    cdef int code = a.layout.dtype.code
    cdef int64_t n = out.layout.numel
    cdef void* x = _data(a, blocks)
    cdef void* y = _data(b, blocks)
    if c is None:
        gamma_grad(code, x, y, out.layout.data(), n)
    else:
        dirichlet_grad(code, x, y, _data(c, blocks), out.layout.data(), n)
