"""Regularisation operators: the energies of function bases, computed exactly."""
