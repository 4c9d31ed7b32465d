"""Where a tensor's bytes live."""
cimport cython
from claygrad.core.data.device cimport ACCELERATOR, CPU, META, SPARSE, WRAPPED

_TYPES = ("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
          "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone")

cdef int _kind_of(str name):
    return CPU if name == "cpu" else META if name == "meta" else ACCELERATOR


def _refuse(args):
    got = ", ".join(type(a).__name__ for a in args)
    return TypeError(f"device() received an invalid combination of arguments - got ({got}), but expected one of:\n"
                     " * (claygrad.device device)\n * (str type, int index = -1)\n")


cdef tuple _split(str text):
    if not text:
        raise RuntimeError("Device string must not be empty")
    kind, colon, index = text.partition(":")
    if kind not in _TYPES:
        raise RuntimeError(f"Expected one of {', '.join(_TYPES)} device type at start of device string: {kind}")
    if not colon:
        return kind, None
    if not (index.isascii() and index.isdigit()) or (len(index) > 1 and index[0] == "0"):
        raise RuntimeError(f"Invalid device string: '{text}'")
    return kind, int(index)


@cython.final
@cython.binding(False)
cdef class device:
    """A device: `device('cpu')`, `device('cuda', 1)`, `device('meta')`. As a context, the default of factories."""

    def __cinit__(self, *args, **kwargs):
        names = ("type", "index")
        if not args and not kwargs or len(args) > 2 or any(k not in names for k in kwargs):
            raise _refuse(args + tuple(kwargs.values()))
        values = dict(zip(names, args)) | kwargs
        spec = values.get("type")
        if isinstance(spec, device) and len(values) == 1:
            self.type, self.index, self.kind = (<device>spec).type, (<device>spec).index, (<device>spec).kind
            return
        if isinstance(spec, int) and not isinstance(spec, bool) and len(values) == 1:
            values = {"type": _accelerator(), "index": spec}
            spec = values["type"]
        if not isinstance(spec, str):
            raise _refuse(args + tuple(kwargs.values()))
        self.type, self.index = _split(spec)
        self.kind = _kind_of(self.type)
        if "index" in values:
            index = values["index"]
            if not isinstance(index, int):
                raise _refuse(args + tuple(kwargs.values()))
            if self.index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {spec}")
            if index < 0:
                raise RuntimeError("Device index must not be negative")
            self.index = index

    def __repr__(self):
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        if not isinstance(other, device):
            return NotImplemented
        return self.type == (<device>other).type and self.index == (<device>other).index

    def __hash__(self):
        return hash((self.type, self.index))

    def __reduce__(self):
        return device, ((self.type,) if self.index is None else (self.type, self.index))

    def __enter__(self):
        _defaults.append(_current())
        set_default_device(self)
        return self

    def __exit__(self, *exc):
        set_default_device(_defaults.pop())


cdef device cpu = device("cpu")
cdef device scattered = device("cpu")
scattered.kind = SPARSE
cdef device _default = cpu
cdef list _defaults = []


cdef device _current():
    return _default


def get_default_device():
    """The device on which factories make tensors."""
    return _default


def set_default_device(where):
    """Change the device on which factories make tensors."""
    global _default
    _default = cpu if where is None else parse(where)


# --- accelerators: Note [Accelerators] ---------------------------------------------------------------------------
cdef object _table_of = None                  # type of device -> its table; raises where there is none
cdef object _first_there = None               # the type of this machine's accelerator, or None
cdef dict _used = {}                          # (type, index) -> the one device object of the tensors there


def find_accelerators_by(table_of, first_there):
    """Set the functions that find tables; claygrad.devices calls this when it is loaded."""
    global _table_of, _first_there
    _table_of, _first_there = table_of, first_there


cdef str _accelerator():
    found = None if _first_there is None else _first_there()
    if found is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return found


cdef device _usable(device asked):
    cdef device found
    table = _table_of(asked.type)
    index = table.current() if asked.index is None else asked.index
    found = _used.get((asked.type, index))
    if found is None:
        table.check(index)
        found = device(asked.type, index)
        found.table = table
        _used[asked.type, index] = found
    return found


def forget_accelerator(str kind):
    """Forget the table of a device type, so that it is looked up again. For tests: existing tensors keep the old one."""
    for key in [key for key in _used if key[0] == kind]:
        del _used[key]


cdef bint apart(device a, device b) noexcept:
    return a.kind != b.kind or a is not b and a.kind == ACCELERATOR


def no_cuda():
    """The error that every use of CUDA raises where none is available."""
    return AssertionError("Torch not compiled with CUDA enabled\n"
                          "  no CUDA device can be used by this process; tensors on 'cpu' and 'meta' work")


cdef device parse(object spec):
    if spec is None:
        return _default
    cdef device d
    if isinstance(spec, device):
        d = <device>spec
    elif isinstance(spec, (str, int)):
        d = device(spec)
    else:
        return None
    if d.kind == CPU:
        return cpu
    if d.kind == ACCELERATOR and d.table is None:
        return _usable(d)
    return d


cdef device wrapped_as(object spec):
    cdef device said = _default if spec is None else <device>spec if isinstance(spec, device) else device(spec)
    cdef device out = device(said.type) if said.index is None else device(said.type, said.index)
    out.kind = WRAPPED
    return out


cdef device told(device where):
    if where.type == "cpu":
        return cpu
    return device(where.type) if where.index is None else device(where.type, where.index)


def parse_device(spec):
    """A usable device from a device, a string or None; None for anything else."""
    return parse(spec)
