"""The path of alphas by band reduction (n = 5000) against LAPACK's tridiagonalisation and eigendecomposition of the
same matrix.
"""

import numpy as np
from _timing import best_times, report
from scipy.linalg import eigh, lapack

from seminorm.kernels import ThinPlate
from seminorm.nullspace import Polynomials, project_kernel_matrix
from seminorm.solvers.linear.paths import BandPath

N, ALPHAS = 5000, np.logspace(-6, 3, 62)
rng = np.random.default_rng(0)
X, z = rng.random((N, 2)), rng.standard_normal((N, 1))
M = np.asfortranarray(project_kernel_matrix(ThinPlate()(X), Polynomials(1).fit(X)(X)))
times = best_times(
    {
        "band reduction, 62 alphas": lambda: BandPath(M.copy(order="F"), z).summary(ALPHAS),
        "dsytrd alone": lambda: lapack.dsytrd(M, lower=1, lwork=64 * N),
        "eigh": lambda: eigh(M, driver="evd"),
    },
    repeats=1,
)
for peer in ("dsytrd alone", "eigh"):
    report(times, "band reduction, 62 alphas", peer, 1)
