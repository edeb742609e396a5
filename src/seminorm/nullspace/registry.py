"""The registries of null spaces and of twins. The examples are fitted on, or made for, points in the plane."""

import numpy as np

from .._base.registry import Registry
from ..kernels import Kernel, Polyharmonic, ThinPlate
from .additive import PolynomialSum
from .components import PerComponent, RigidMotions
from .spaces import Columns, Features, Frozen, NullSpace, Polynomials, UnionSpace
from .twins import LagrangeBasis, SoftTwin, ThinPlateTwin, Twin

_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


def _slopes_of_sines(X: np.ndarray) -> np.ndarray:
    return np.cos(X)[:, :, None] * np.eye(X.shape[1])


#: Null spaces by name; ``all_null_spaces()`` gives one or more instances of each.
all_null_spaces: Registry[NullSpace] = Registry("null space")
_register = all_null_spaces.register
_register(Polynomials, lambda: [Polynomials(degree) for degree in (-1, 0, 1, 3)])
_register(PolynomialSum, lambda: [PolynomialSum([1, 2], [[0, 1], [1]])])
_register(Columns, lambda: [Columns([1])])
_register(Features, lambda: [Features(np.sin, jacobian=_slopes_of_sines)])
_register(UnionSpace, lambda: [UnionSpace(Polynomials(0), Columns([0, 1]))])
_register(Frozen, lambda: [Frozen(Polynomials(2).fit(3.0 * _CORNERS))])
_register(LagrangeBasis, lambda: [LagrangeBasis(Polynomials(1), _CORNERS)])

#: Positive definite twins of kernels by name.
all_twins: Registry[Kernel] = Registry("twin")

all_twins.register(
    Twin,
    lambda: [
        Twin(ThinPlate(), _CORNERS),
        Twin(ThinPlate(), _CORNERS, definite=False),
        Twin.from_data(Polyharmonic(2), np.vstack([_CORNERS, [[0.4, 0.7]]])),
    ],
)
all_twins.register(SoftTwin, lambda: [SoftTwin(ThinPlate(), np.vstack([_CORNERS, [[0.4, 0.7], [0.9, 0.8]]]))])
all_twins.register(ThinPlateTwin, lambda: [ThinPlateTwin(0.4)])

#: Null spaces of vector fields by name; their points have the number of a component as last column.
all_vector_null_spaces: Registry[NullSpace] = Registry("vector null space")
all_vector_null_spaces.register(PerComponent, lambda: [PerComponent(Polynomials(degree)) for degree in (0, 1)])
all_vector_null_spaces.register(RigidMotions)
