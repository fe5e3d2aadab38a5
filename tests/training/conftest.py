import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fairgym.training import RunConfig, train

SMALL = {
    "environment": "loan",
    "population": 60,
    "horizon": 20,
    "epochs": 4,
    "episodes_per_epoch": 8,
    "evaluation_episodes": 2,
    "hidden": 8,
}


@pytest.fixture(scope="session")
def small():
    """The configuration of a small run of F-MACEM."""
    return RunConfig.from_mapping(SMALL)


@pytest.fixture(scope="session")
def finished(small, tmp_path_factory):
    """That run, uninterrupted; not to be written to."""
    return train(small, tmp_path_factory.mktemp("runs") / "small")
