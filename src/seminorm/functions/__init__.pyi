from .expansion import Expansion as Expansion
from .functionals import Functional as Functional
from .grids import regular_axes as regular_axes
from .grids import sample_on_grid as sample_on_grid
from .matrices import cross as cross
from .matrices import design as design
from .matrices import gram as gram
from .protocol import Function as Function
