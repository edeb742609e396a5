"""Tables that stay on disk or with the workers of a Dask client give the machine of the same rows in memory."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from seminorm import SVC, SVR
from seminorm.estimators import basis, margin, row_tables
from seminorm.kernels import NegativeDistance, ThinPlate


@pytest.fixture
def few_are_dense(monkeypatch):
    for module in (basis, margin):
        monkeypatch.setattr(module, "MOST_DENSE", 400)


@pytest.fixture
def table(rng):
    X = rng.standard_normal((2500, 4)).astype(np.float32).astype(float)
    X = X[np.argsort(X[:, 0])]  # the order in which samples in memory come out
    return X, (X[:, :2] ** 2).sum(axis=1) + X[:, 2] + 0.3 * rng.standard_normal(2500) > 1.4


def machines():
    given = {"n_basis": 60, "random_state": 0}
    return [
        SVC(NegativeDistance(), **given),
        SVC(ThinPlate(), null_space="soft", alpha=1.0, **given),
        SVC(ThinPlate(), null_space="zero", alpha=1.0, **given),
        SVR(NegativeDistance(), loss="squared", **given),
        SVR(NegativeDistance(), loss="epsilon_insensitive", alpha=1.0, epsilon=0.1, **given),
    ]


def values(machine, X):
    assert machine.n_basis_ == 60
    return machine.decision_function(X) if isinstance(machine, SVC) else machine.predict(X)


@pytest.mark.parametrize("machine", machines(), ids=repr)
def test_memory_mapped_rows(machine, table, few_are_dense, tmp_path):
    X, y = table
    y = y.astype(float) if isinstance(machine, SVR) else y
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_allclose(values(clone(machine).fit(mapped, y), X), values(clone(machine).fit(X, y), X), atol=1e-6)


@pytest.mark.parametrize("machine", machines(), ids=repr)
def test_workers_sum_what_memory_sums(machine, table, few_are_dense, tmp_path):
    dask_array = pytest.importorskip("dask.array")
    X, y = table
    y = y.astype(float) if isinstance(machine, SVR) else y
    np.save(tmp_path / "X.npy", X)
    found = []
    for rows in (np.load(tmp_path / "X.npy", mmap_mode="r"), dask_array.from_array(X, chunks=(700, 2))):
        found.append(values(clone(machine).fit(rows, y), X))
    np.testing.assert_allclose(*found, atol=1e-6)


def test_bad_tables(table, few_are_dense, tmp_path):
    dask_array = pytest.importorskip("dask.array")
    X, y = table
    unknown = dask_array.from_array(X, chunks=500)
    unknown = unknown[unknown[:, 0] > 0]
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        SVC().fit(unknown, y)
    known = dask_array.from_array(X, chunks=500)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        SVC().fit(known, dask_array.from_array(y, chunks=500)[dask_array.from_array(y, chunks=500)])
    with pytest.raises(ValueError, match="give n_basis"):
        SVC(n_basis=None).fit(known, y)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        SVC().fit(known, y[:-1])
    broken = X.copy()
    broken[1700, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        SVC(n_basis=50).fit(dask_array.from_array(broken, chunks=500), y)


def test_a_metric_is_learned_from_some_rows(table, few_are_dense, tmp_path, monkeypatch):
    X, y = table
    np.save(tmp_path / "X.npy", X)
    seen = []

    def learn(metric, rows, labels, weights):
        seen.append((rows, labels, weights))
        return SimpleNamespace(matrix_=np.diag([1.0, 1.0, 0.5, 0.1]))

    monkeypatch.setattr(margin, "learn_metric", learn)
    monkeypatch.setattr(row_tables, "_SAMPLE", 300)
    machine = SVC(NegativeDistance(), metric="full", n_basis=60, alpha=0.1, random_state=0)
    stayed = values(machine.fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y), X)
    ((rows, labels, weights),) = seen
    assert len(rows) == len(labels) == len(weights) == 300
    np.testing.assert_array_equal(labels, y[np.searchsorted(X[:, 0], rows[:, 0])])
    np.testing.assert_allclose(stayed, values(machine.fit(X, y), X), atol=1e-6)
