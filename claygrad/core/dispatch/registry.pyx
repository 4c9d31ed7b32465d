"""Native forms by name: the modules of native/ offer theirs when they are loaded, declarations ask for them."""
cimport cython
from claygrad.core.dispatch.guard cimport form_t, guard, guarded, guarded_composite
from claygrad.core.op cimport MULTI_VIEW, VIEW, Op, fast_rule_t, fast_t, composite_slots_t
from claygrad.core.op import every_op
from claygrad.core.data.dtype cimport N_NATIVE
from claygrad.core.data.kernels cimport find

cdef dict _of_arrays = {}        # forms that return layouts
cdef dict _of_tensors = {}       # forms that return tensors: of composites, factories and views with several results


cdef NativeForm _new(dict forms, str name):
    if name in forms:
        raise ValueError(f"the native form '{name}' is offered twice")
    forms[name] = native = NativeForm()
    return native


cdef NativeForm offer(str name, form_t form, str takes, bint composite=False):
    cdef NativeForm native = offer_composite_slots(name, guarded_composite) if composite else offer_slots(name, guarded)
    native.form, native.takes = <void*>form, takes
    return native


cdef NativeForm offer_slots(str name, fast_t fast):
    cdef NativeForm native = _new(_of_arrays, name)
    native.fast = fast
    return native


cdef NativeForm offer_composite_slots(str name, composite_slots_t composite):
    cdef NativeForm native = _new(_of_tensors, name)
    native.composite = composite
    return native


cdef NativeForm offer_factory(str name, make_t make):
    cdef NativeForm native = _new(_of_tensors, name)
    native.make = make
    return native


cdef bint take(Op op, str name) except -1:
    cdef NativeForm native = (_of_tensors if op.kind >= MULTI_VIEW else _of_arrays).get(name)
    if native is None or native.make != NULL:
        return False
    op.fast, op.composite = native.fast, native.composite
    if native.loops is not None and not take_loops(op, native.loops[0], native.loops[1]):
        raise TypeError(f"{op.name}: no loops {native.loops} for the native form '{name}'")
    if native.ready != NULL:
        native.ready(op)
    if native.takes is not None:
        op.form = native.form
        guard(op, native.takes)
    return True


cdef bint take_loops(Op op, bytes family, bytes name):
    cdef int code
    cdef bint found = False
    for code in range(N_NATIVE):
        op.kernels[code] = find(family, name, code)
        found = found or op.kernels[code] != NULL
    return found


cdef table_t _tables[TABLES]


cdef int offer_table(int number, table_t table) except -1:
    _tables[number] = table
    return 0


cdef bint take_table(Op op, str name, bint found) except -1:
    cdef int i
    for i in range(TABLES):
        if op.kind < VIEW and _tables[i] != NULL and _tables[i](op, name, found):
            found = True
    return found


cdef make_t factory(str name) except NULL:
    cdef NativeForm native = _of_tensors.get(name)
    if native is None or native.make == NULL:
        raise TypeError(f"nobody offers a factory '{name}'")
    return native.make


# --- without native forms ------------------------------------------------------------------------------------------
cdef class _NativeForms:
    """The native forms of one operation, while they are switched off."""
    cdef Op op
    cdef fast_t fast
    cdef composite_slots_t composite
    cdef fast_rule_t rules[4]


@cython.final
@cython.binding(False)
cdef class reference_only:
    """Inside, every operation runs by its reference, the declared forward: the table of native forms is empty.

    with claygrad.core.dispatch.reference_only():
        expected = x.logsumexp(1)

    For tests, and to find out whether a kernel is wrong. It applies to all threads.
    """
    cdef list switched_off

    def __cinit__(self):
        self.switched_off = []

    def __enter__(self):
        cdef Op op
        cdef _NativeForms forms
        cdef int i
        if self.switched_off:
            raise RuntimeError("reference_only() is entered already: use one for each `with`")
        for op in every_op:
            forms = _NativeForms.__new__(_NativeForms)
            forms.op, forms.fast, forms.composite, forms.rules = op, op.fast, op.composite, op.fast_rules
            self.switched_off.append(forms)
            op.fast = NULL
            op.composite = NULL
            for i in range(4):
                op.fast_rules[i] = NULL
        return self

    def __exit__(self, *_):
        cdef _NativeForms forms
        for forms in self.switched_off:
            forms.op.fast, forms.op.composite, forms.op.fast_rules = forms.fast, forms.composite, forms.rules
        self.switched_off = []


def has_native_form(Op op):
    return op.fast != NULL or op.composite != NULL
