from .exact import fit_exact as fit_exact
from .moving import MovingSurface as MovingSurface
from .moving_reconstruction import reconstruct_moving as reconstruct_moving
from .reconstruction import reconstruct as reconstruct
from .surface import Surface as Surface
from .uncertainty import FitModel as FitModel
