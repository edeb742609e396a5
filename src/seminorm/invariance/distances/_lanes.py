"""Eight numbers side by side in compiled loops, as one vector of the processor or as several where it has shorter ones.

Compilers find such vectors in some loops and not in others; these few operations say so. The arithmetic is that of
single numbers, in the order written.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

LANES = 8
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_INDEX = ir.IntType(32)


class _Lanes(types.Type):
    """Numba's type of eight numbers."""

    def __init__(self):
        super().__init__(name=f"Lanes({LANES})")


_lanes = _Lanes()


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _VECTOR)


def _address(context, builder, kind, array, position):
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [position]), _VECTOR.as_pointer())


def _smaller(builder, a, b):
    return builder.select(builder.fcmp_ordered("<", a, b), a, b)


@intrinsic
def load(typing, array, position):
    """The eight numbers of a contiguous array from a position on."""

    def generate(context, builder, signature, arguments):
        value = builder.load(_address(context, builder, signature.args[0], *arguments))
        value.align = 8
        return value

    return _lanes(array, types.intp), generate


@intrinsic
def store(typing, array, position, value):
    """Write eight numbers into a contiguous array."""

    def generate(context, builder, signature, arguments):
        array, position, value = arguments
        builder.store(value, _address(context, builder, signature.args[0], array, position), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, value), generate


@intrinsic
def splat(typing, number):
    """One number, eight times."""

    def generate(context, builder, signature, arguments):
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(undefined, arguments[0], _INDEX(0))
        return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_INDEX, LANES), [0] * LANES))

    return _lanes(types.float64), generate


@intrinsic
def squared_difference(typing, a, b):
    """(a - b)^2"""

    def generate(context, builder, signature, arguments):
        difference = builder.fsub(*arguments)
        return builder.fmul(difference, difference)

    return _lanes(a, b), generate


@intrinsic
def add(typing, a, b):
    """a + b"""
    return _lanes(a, b), lambda context, builder, signature, arguments: builder.fadd(*arguments)


@intrinsic
def larger(typing, a, b):
    """max(a, b)"""

    def generate(context, builder, signature, arguments):
        a, b = arguments
        return builder.select(builder.fcmp_ordered(">", a, b), a, b)

    return _lanes(a, b), generate


@intrinsic
def smallest(typing, a, b, c):
    """min(a, b, c)"""

    def generate(context, builder, signature, arguments):
        a, b, c = arguments
        return _smaller(builder, c, _smaller(builder, a, b))

    return _lanes(a, b, c), generate
