"""The scripts of the repository's `benchmarks` folder as modules."""

import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="session")
def benchmark_script():
    """`benchmark_script(name)`: a module of the folder, as when one of its files is run."""
    sys.path.insert(0, str(FOLDER))
    yield importlib.import_module
    sys.path.remove(str(FOLDER))
