"""Shared fixtures: where development data may be found, and settings of Hypothesis."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("seminorm", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("seminorm")


@pytest.fixture
def rng():
    return np.random.default_rng(20240501)


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real data for development; tests that need it skip where it is absent."""
    folder = Path(os.environ.get("SEMINORM_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no development data in {folder}: set SEMINORM_DATA to run this test")
    return folder


def pytest_collection_modifyitems(items):
    """Whole scripts first: they take long, and at the end one of them would keep all others waiting."""
    items.sort(key=lambda item: "test_reproduce" not in item.nodeid)
