"""The pieces for values of any rank, and how often each is drawn."""
from pieces_elementwise import (
    activation,
    unary,
    with_constant,
    with_input,
    with_other,
)
from pieces_reduce import cumulate, outer, reduce, softmax, with_part
from pieces_shape import (
    divide,
    expand,
    gather,
    gather_elements,
    join,
    pad,
    reshape,
    slice_,
    transpose,
    trilu,
)
from pieces_whole import numbers, sort, where, wide_float

PIECES = [
    (5, activation),
    (4, unary),
    (6, with_other),
    (6, with_constant),
    (3, with_input),
    (4, with_part),
    (1, outer),
    (5, reduce),
    (2, softmax),
    (1, cumulate),
    (10, join),
    (8, divide),
    (6, slice_),
    (5, transpose),
    (6, reshape),
    (3, expand),
    (4, pad),
    (2, gather),
    (1, gather_elements),
    (1, trilu),
    (3, where),
    (3, numbers),
    (1, sort),
    (1, wide_float),
]

# The pieces that take a value of rank 0.
SCALAR_PIECES = [
    (1, activation),
    (1, unary),
    (1, with_other),
    (1, with_constant),
    (1, with_input),
    (1, wide_float),
]

# The pieces that also move whole numbers and truth values.
MOVES = [
    (3, join),
    (3, divide),
    (3, slice_),
    (2, transpose),
    (3, reshape),
    (2, expand),
    (1, gather),
]
