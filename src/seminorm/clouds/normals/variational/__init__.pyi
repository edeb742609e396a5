from .few import estimate_from_all as estimate_from_all
from .few import follow_others as follow_others
from .few import require_memory_for as require_memory_for
from .gradient_energy import DegenerateTrendError as DegenerateTrendError
from .gradient_energy import GradientCovariance as GradientCovariance
from .gradient_energy import GradientEnergy as GradientEnergy
from .minimum import Minimum as Minimum
from .minimum import smoothest_normals as smoothest_normals
