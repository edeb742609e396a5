"""The regularisation operator behind a kernel: spectra, Green's functions, admissibility, energies."""

from .._lazy import lazy_names

_HOMES = {
    "Admissibility": "admissibility",
    "Eigensystem": "eigensystems",
    "GreensFunction": "greens",
    "Membership": "belonging",
    "MercerExpansion": "expansions",
    "MonomialExpansion": "monomials",
    "Operator": "operator",
    "SpectrumMatch": "matching",
    "admissible": "admissibility",
    "derivatives": "operator",
    "energy_kernel": "networks",
    "fourier_coefficients": "circle",
    "match_spectrum": "matching",
    "membership": "belonging",
    "mercer": "expansions",
    "monomial_expansion": "monomials",
    "network_kernel": "networks",
    "operator_of": "spectra",
    "polynomial_norm": "monomials",
    "radial_fourier": "transforms",
    "ridge_twin": "networks",
    "spectral_seminorm": "networks",
    "spectrum": "spectra",
}
__all__ = list(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
