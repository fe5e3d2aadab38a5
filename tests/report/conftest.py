"""Two seeds of one configuration and one of another: tiny real runs; and made-up numbers."""

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fairgym
from fairgym.report.measures import measures
from fairgym.report.results import Result
from fairgym.training import Evaluation, RunConfig, train

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


@pytest.fixture(scope="session")
def env():
    return fairgym.make("loan", **SMALL)


@pytest.fixture(scope="session")
def made_up_run(env) -> Callable[..., Any]:
    """(seed, values, settings) -> a run whose every logged number is `values` over the epochs."""

    def make(seed: int, values: list[float], folder: str = "", **settings: Any) -> Any:
        keys = [m.key for m in measures(env)]
        for agent in env.agents:
            space = env.action_space(agent)
            names = getattr(space, "names", None) or (space.name,)
            keys += [f"actions/{agent}/{name}" for name in names]
        lines = [{"epoch": i + 1, **dict.fromkeys(keys, v)} for i, v in enumerate(values)]
        config = {"objective": "uniform", "seed": seed} | settings
        return types.SimpleNamespace(
            config=config, env=env, metrics=lines, folder=folder or f"/x/{config}"
        )

    return make


@pytest.fixture(scope="session")
def made_up_evaluation(env) -> Callable[..., Evaluation]:
    """value -> an evaluation whose every raw metric is near `value` in each of four episodes."""

    def make(value: float, **changes: Any) -> Evaluation:
        values = value + np.array([-0.01, 0.01, -0.01, 0.01])
        fields = {
            "metrics": dict.fromkeys(env.metrics, values),
            "defined": dict.fromkeys(env.metrics, np.ones(4, bool)),
            "objective": values,
            "lengths": np.full(4, 20),
            "terminated": np.zeros(4, bool),
            "mean_actions": {},
            "trace": None,
            "people_start": {},
            "people_end": {},
        }
        return Evaluation(**(fields | changes))

    return make


@pytest.fixture(scope="session")
def made_up_result(made_up_evaluation) -> Callable[..., Result]:
    """(name, learned, value) -> the result of such a policy."""

    def make(name: str, learned: bool, value: float, **changes: Any) -> Result:
        return Result(name, learned, (made_up_evaluation(value, **changes),))

    return make
