"""Native forms by name: the modules of native/ offer theirs when they are loaded, declarations ask for them."""
cimport cython
from claygrad.core.dispatch.guard cimport composite_t, guard, guarded_composite, guarded_one, guarded_several, one_t, several_t
from claygrad.core.op cimport MULTI_VIEW, VIEW, Op, fast_rule_t, fast_t, many_t, short_t
from claygrad.core.op import every_op
from claygrad.core.data.dtype cimport N_NATIVE
from claygrad.core.data.kernels cimport find

cdef dict _of_arrays = {}        # ways that give layouts
cdef dict _of_tensors = {}       # ways that give tensors: of composites, factories, and views in several pieces


cdef Way _new(dict ways, str name):
    if name in ways:
        raise ValueError(f"the native form '{name}' is offered twice")
    ways[name] = way = Way()
    return way


cdef Way offer_one(str name, one_t form, str takes):
    cdef Way way = offer(name, guarded_one)
    way.form, way.takes = <void*>form, takes
    return way


cdef Way offer_several(str name, several_t form, str takes):
    cdef Way way = offer_many(name, guarded_several)
    way.form, way.takes = <void*>form, takes
    return way


cdef Way offer_composite(str name, composite_t form, str takes):
    cdef Way way = offer_short(name, guarded_composite)
    way.form, way.takes = <void*>form, takes
    return way


cdef Way offer(str name, fast_t fast):
    cdef Way way = _new(_of_arrays, name)
    way.fast = fast
    return way


cdef Way offer_many(str name, many_t many):
    cdef Way way = _new(_of_arrays, name)
    way.many = many
    return way


cdef Way offer_short(str name, short_t short_):
    cdef Way way = _new(_of_tensors, name)
    way.short = short_
    return way


cdef Way offer_factory(str name, make_t make):
    cdef Way way = _new(_of_tensors, name)
    way.make = make
    return way


cdef bint take(Op op, str name) except -1:
    cdef Way way = (_of_tensors if op.kind >= MULTI_VIEW else _of_arrays).get(name)
    if way is None or way.make != NULL:
        return False
    op.fast, op.many, op.short = way.fast, way.many, way.short
    if way.loops is not None and not take_loops(op, way.loops[0], way.loops[1]):
        raise TypeError(f"{op.name}: no loops {way.loops} for the native form '{name}'")
    if way.ready != NULL:
        way.ready(op)
    if way.takes is not None:
        op.form = way.form
        guard(op, way.takes)
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
    cdef Way way = _of_tensors.get(name)
    if way is None or way.make == NULL:
        raise TypeError(f"nobody offers a factory '{name}'")
    return way.make


# --- without native forms ------------------------------------------------------------------------------------------
cdef class _NativeForms:
    """Those of one operation."""
    cdef Op op
    cdef fast_t fast
    cdef many_t many
    cdef short_t short
    cdef fast_rule_t rules[4]


@cython.final
@cython.binding(False)
cdef class reference_only:
    """Inside, every operation runs by its reference, the declared forward: the table of native forms is empty.

    with claygrad.core.dispatch.reference_only():
        expected = x.logsumexp(1)

    It is for tests, and for whoever wonders whether a kernel is at fault. It holds for all threads.
    """
    cdef list taken

    def __cinit__(self):
        self.taken = []

    def __enter__(self):
        cdef Op op
        cdef _NativeForms forms
        cdef int i
        if self.taken:
            raise RuntimeError("reference_only() is entered already: use one for each `with`")
        for op in every_op:
            forms = _NativeForms.__new__(_NativeForms)
            forms.op, forms.fast, forms.many, forms.short, forms.rules = op, op.fast, op.many, op.short, op.fast_rules
            self.taken.append(forms)
            op.fast = NULL
            op.many = NULL
            op.short = NULL
            for i in range(4):
                op.fast_rules[i] = NULL
        return self

    def __exit__(self, *_):
        cdef _NativeForms forms
        for forms in self.taken:
            forms.op.fast, forms.op.many, forms.op.short = forms.fast, forms.many, forms.short
            forms.op.fast_rules = forms.rules
        self.taken = []


def has_native_form(Op op):
    return op.fast != NULL or op.many != NULL or op.short != NULL
