from .method import eigen_surface as eigen_surface
from .orientation import orient_by_eigenvector as orient_by_eigenvector
from .search import search_eigen_surface as search_eigen_surface
