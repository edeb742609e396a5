"""All kernels and transformers of this package by name; transformations and distances have registries of their own."""

from typing import Any

from .._base.registry import Registry
from ..kernels.base import Kernel
from ..kernels.conditional_radial import NegativeDistance, ThinPlate
from ..kernels.dot_product import Polynomial
from ..kernels.positive_radial import Gaussian
from ..nullspace.spaces import NullSpace
from .alignment import GlobalAlignmentKernel
from .averages import AveragedPolynomials
from .definiteness import DefiniteRepair, Repair
from .distances.minimum import MinimumDistance
from .haar import HaarFeatures
from .integration import IntegrationKernel
from .substitution import DistanceKernel, JitteringKernel
from .transformations.finite import Reflection
from .transformations.vectors import Rotation, Scaling

#: kernels that are made from another kernel and an invariance
all_invariant_kernels: Registry[Kernel] = Registry("invariant kernel")
all_invariant_kernels.register(
    IntegrationKernel,
    lambda: [
        IntegrationKernel(Gaussian(), Reflection(0)),
        IntegrationKernel(NegativeDistance(1.0), Scaling(0.3, n_nodes=3)),
        IntegrationKernel(ThinPlate(), Scaling(0.3, n_nodes=3)),
    ],
)
all_invariant_kernels.register(
    DistanceKernel,
    lambda: [
        DistanceKernel(Gaussian(), MinimumDistance(Reflection(axis=0))),
        DistanceKernel(NegativeDistance(), MinimumDistance(Rotation(extent=0.5), regularization=0.1)),
        DistanceKernel(Polynomial(2), MinimumDistance(Reflection(axis=0))),
    ],
)
all_invariant_kernels.register(JitteringKernel, lambda: [JitteringKernel(Gaussian(), Reflection(axis=0))])

all_invariant_kernels.register(
    GlobalAlignmentKernel, lambda: [GlobalAlignmentKernel(), GlobalAlignmentKernel(0.5, triangle=6)]
)

#: null spaces of averaged kernels
all_invariant_null_spaces: Registry[NullSpace] = Registry("invariant null space")
all_invariant_null_spaces.register(AveragedPolynomials, lambda: [AveragedPolynomials(Reflection(0))])

#: what is fitted to patterns or matrices before a machine sees them
all_transformers: Registry[Any] = Registry("transformer")
all_transformers.register(HaarFeatures, lambda: [HaarFeatures(), HaarFeatures(Reflection(0), degree=1)])
all_transformers.register(Repair, lambda: [Repair(), Repair("clip"), Repair("shift", cpd_order=1)])
all_transformers.register(DefiniteRepair, lambda: [DefiniteRepair(), DefiniteRepair(Gaussian(), "clip")])
