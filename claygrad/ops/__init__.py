"""Every operation, one declaration each. Importing this package makes them callable and gives the tensor methods."""
from claygrad.core import LATE, attach, install_verbs
from claygrad.ops import (
    activation,
    arithmetic,
    assign,
    cast,
    choose,
    compare,
    complex,
    contraction,
    copies,
    creation,
    dropout,
    derived,
    exchange,
    exponential,
    extremum,
    fft,
    fill,
    frequencies,
    indexing,
    join,
    logic,
    loss,
    loss_class,
    loss_margin,
    matmul,
    matrix,
    moments,
    norm_layer,
    part,
    products,
    protocol,
    random,
    random_fill,
    ranges,
    reduce,
    rounding,
    scan,
    scatter,
    shape,
    softmax,
    sort,
    special,
    split,
    view,
)
from claygrad.ops._registry import METHODS

install_verbs()
LATE["is_contiguous"] = METHODS.pop("is_contiguous")     # the compiled method asks it about memory formats only
attach(METHODS)
LATE.update(tensor=creation.tensor, as_tensor=creation.as_tensor, legacy_tensor=creation.legacy_tensor)
