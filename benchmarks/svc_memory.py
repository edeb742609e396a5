"""SVC on 10 000 images of MNIST, ten classes, constant pixels and all: trains and tunes within three n x n matrices."""

import time
import warnings

import numpy as np
from _datasets import arrays
from _memory import peak_of, report_peak

from seminorm import SVC

N = 10_000

if __name__ == "__main__":
    warnings.filterwarnings("ignore", message="the null space")  # constant pixels
    file = arrays("mnist/mnist.npz")
    X, Z = (file[name].reshape(len(file[name]), -1) / 255.0 for name in ("X_train", "X_test"))
    SVC().fit(X[:900], file["y_train"][:900])
    model, start = SVC(), time.perf_counter()
    growth = peak_of(lambda: model.fit(X[:N], file["y_train"][:N]))
    seconds = time.perf_counter() - start
    error = 100 * np.mean(model.predict(Z) != file["y_test"])
    print(f"{'trained and tuned':>28}: {seconds:8.1f} s, {error:.2f} % errors on {len(Z)} test images")
    report_peak("SVC", growth, N, 3)
