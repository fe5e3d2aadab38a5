"""Two seeds of one configuration and one of another: tiny real runs, trained once."""

import pytest

from fairgym.training import RunConfig, train

SMALL = {"population": 60, "horizon": 20}


def config(seed: int, objective: str = "uniform") -> RunConfig:
    """A configuration that trains in a second."""
    return RunConfig(
        "loan",
        environment_args=SMALL,
        algorithm_args={"epochs": 3, "episodes_per_epoch": 8},
        objective=objective,
        seed=seed,
    )


@pytest.fixture(scope="session")
def seeds(tmp_path_factory):
    """A folder with seed-0 and seed-1."""
    folder = tmp_path_factory.mktemp("runs") / "uniform"
    for seed in (0, 1):
        train(config(seed), folder / f"seed-{seed}")
    return folder


@pytest.fixture(scope="session")
def other(tmp_path_factory):
    """A run with another objective."""
    folder = tmp_path_factory.mktemp("runs") / "direct"
    train(config(0, "direct"), folder)
    return folder
