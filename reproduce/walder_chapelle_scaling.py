"""Walder and Chapelle 2007, lemma 3.1 and corollary 2.3: how regularised solutions follow a dilation of the data.

The source states the scaling g_s of each space, <f, g> = g_s <f o W_s, g o W_s>: s^(-2p) for the homogeneous
polynomial kernel and s^-(2m-d) for the thin plate. We measure it as the ratio of the squared semi-norms of two fits,
and the largest difference between the two functions.
"""

import numpy as np

from seminorm import Smoother
from seminorm.kernels import Gaussian, Polyharmonic, Polynomial

rng = np.random.default_rng(0)
s = 3.0
cases = [(Polynomial(p, offset=0.0), 2, f"s^-{2 * p}", s ** (-2.0 * p)) for p in (1, 2, 3)]
cases += [
    (Polyharmonic(m), d, f"s^-{2 * m - d}", s ** -(2.0 * m - d))
    for m, d in ((1, 1), (2, 1), (2, 2), (2, 3), (3, 2), (3, 3))
]
print(f"{'kernel':>28} {'d':>2} {'source':>8} {'value':>10} {'measured':>10} {'difference of the functions':>28}")
for kernel, d, formula, g in cases:
    X, Z = rng.random((60, d)), rng.random((30, d))
    y = np.sin(4 * X[:, 0]) + 0.1 * rng.standard_normal(60)
    one, dilated = Smoother(kernel, alpha=0.01).fit(X, y), Smoother(kernel, alpha=0.01 / g).fit(s * X, y)
    measured = (dilated.function_.seminorm() / one.function_.seminorm()) ** 2
    difference = np.abs(dilated.predict(s * Z) - one.predict(Z)).max()
    print(f"{kernel!r:>28} {d:>2} {formula:>8} {g:10.6f} {measured:10.6f} {difference:28.1e}")

print("\nNo radial positive definite kernel is dilation scaled: for the Gaussian no alpha makes up for the dilation.")
X, Z = rng.random((60, 2)), rng.random((30, 2))
y = np.sin(9 * X[:, 0]) * np.cos(7 * X[:, 1])
one = Smoother(Gaussian(0.3), alpha=0.01).fit(X, y).predict(Z)
best = min(
    np.abs(Smoother(Gaussian(0.3), alpha=a).fit(s * X, y).predict(s * Z) - one).max() for a in np.logspace(-12, 3, 61)
)
print(f"smallest difference over 61 alphas: {best:.3f} (thin plate, same data: ", end="")
one = Smoother(alpha=0.01).fit(X, y).predict(Z)
print(f"{np.abs(Smoother(alpha=0.01 * s**2).fit(s * X, y).predict(s * Z) - one).max():.1e})")
