import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import two_servers  # noqa: F401 - registers itself

from fairgym.training import RunConfig, train

SMALL = {
    "environment": "two_servers",  # which compiles quickly
    "epochs": 4,
    "episodes_per_epoch": 4,
    "evaluation_episodes": 2,
    "hidden": 2,
}


@pytest.fixture(scope="session")
def small():
    """The configuration of a small run of F-MACEM."""
    return RunConfig.from_mapping(SMALL)


@pytest.fixture(scope="session")
def finished(small, tmp_path_factory):
    """That run, uninterrupted; not to be written to."""
    return train(small, tmp_path_factory.mktemp("runs") / "small")
