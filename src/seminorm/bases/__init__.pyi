from .box import GridBox as GridBox
from .gaussian import GaussianBasis as GaussianBasis
from .grid import GridBasis as GridBasis
from .radial import RadialSplineBasis as RadialSplineBasis
from .radial_energies import radial_energy as radial_energy
