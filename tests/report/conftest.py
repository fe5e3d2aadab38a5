"""Two seeds of one configuration and one of another: tiny real runs; and made-up numbers."""

import dataclasses
import json
import shutil
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pytest
from stand_ins import on_paper, stand_in

import fairgym
from fairgym.algorithms import log_keys
from fairgym.config import RunConfig
from fairgym.core import (
    ActionSpace,
    Components,
    Element,
    EntitySpace,
    EnvironmentSpec,
    Feature,
    PerEntity,
    PopulationEnvironment,
    Shares,
    Unit,
    component,
    per_group,
)
from fairgym.fairness import Disparity, Objective, Rate
from fairgym.report import write_report
from fairgym.report.figures import plot_all
from fairgym.report.grouping import RunGroup
from fairgym.report.measured import Measured, measure_all
from fairgym.results.estimates import Result
from fairgym.results.labels import metric_labels
from fairgym.statistics.survival import wait_ages
from fairgym.training import Evaluation, load, train
from fairgym.training.checkpoint import encode
from fairgym.training.run import Run

# Those of `tests/experiments/test_reproduce.py`, so that one program is compiled for both.
SMALL: dict[str, Any] = {"population": 60, "horizon": 20}
TRAINING = {"epochs": 3, "episodes_per_epoch": 8}


def config(seed: int) -> RunConfig:
    """A configuration that trains in a second."""
    return RunConfig(
        "loan",
        environment_args=SMALL,
        algorithm_args={**TRAINING, "hidden": 8, "evaluation_episodes": 2},
        objective="uniform",
        seed=seed,
    )


@pytest.fixture(scope="session")
def bare_run() -> Callable[..., Any]:
    """(configuration, environment, lines of the log, folder) -> a run as far as figures ask."""

    def make(config: RunConfig, env: Any, metrics: list[dict[str, Any]], folder: str) -> Any:
        aim = stand_in(Objective, weights={})
        return stand_in(
            Run,
            config=config,
            env=env,
            metrics=metrics,
            folder=folder,
            provenance={},
            objective=aim,
        )

    return make


@pytest.fixture(scope="session")
def seeds(tmp_path_factory):
    """A folder with seed-0 and seed-1."""
    folder = tmp_path_factory.mktemp("runs") / "uniform"
    for seed in (0, 1):
        train(config(seed), folder / f"seed-{seed}")
    return folder


@pytest.fixture(scope="session")
def _page(seeds, tmp_path_factory):
    """The page of these seeds, what was measured for it, and its figures."""
    out, kept = tmp_path_factory.mktemp("report") / "page.html", {}

    def keeping(function):
        def keep(*given):
            kept[function] = function(*given)
            return kept[function]

        return keep

    with pytest.MonkeyPatch.context() as patch:
        for function in (measure_all, plot_all):
            patch.setattr(f"fairgym.report.write.{function.__name__}", keeping(function))
        return (
            write_report([seeds], out, episodes=4, worlds=False),
            kept[measure_all],
            kept[plot_all],
        )


@pytest.fixture(scope="session")
def written(_page):
    """The page of these seeds."""
    return _page[0]


@pytest.fixture(scope="session")
def measured(_page):
    """What that page shows: two seeds and the baselines, in four episodes."""
    return _page[1]


@pytest.fixture(scope="session")
def other(seeds, tmp_path_factory):
    """A run with another objective: the policies of seed 0, as if they were trained by it."""
    folder, run = tmp_path_factory.mktemp("runs") / "direct", load(seeds / "seed-0")
    shutil.copytree(run.folder, folder)
    told = dataclasses.replace(run.config, objective="direct").as_json()
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | told))
    (folder / "policy.eqx").write_bytes(encode(run.policies, config=told))
    return folder


@pytest.fixture(scope="session")
def env():
    return fairgym.make("loan", **SMALL)


@pytest.fixture(scope="session")
def made_up_run(env, bare_run) -> Callable[..., Any]:
    """(seed, values, settings) -> a run whose every logged number is `values` over the epochs."""

    def make(seed: int, values: list[float], folder: str = "", **settings: Any) -> Any:
        keys = [m.key for m in metric_labels(env)]
        for agent in env.agents:
            space = env.action_space(agent)
            keys += [log_keys.action(agent, name) for name in space.names]
        lines = [{"epoch": i + 1, **dict.fromkeys(keys, v)} for i, v in enumerate(values)]
        config = RunConfig("loan", seed=seed, **settings)
        return bare_run(config, env, lines, folder or f"/x/{config}")

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
            "totals": None,
            "mean_actions": {},
            "trace": None,
            "people_start": {},
            "people_end": {},
            "waits": {"waiting": {"reached": np.zeros((4, 21, 2, len(wait_ages(20))))}},  # nobody
        }
        return Evaluation(**(fields | changes))

    return make


@pytest.fixture(scope="session")
def made_up_result(made_up_evaluation) -> Callable[..., Result]:
    """(name, learned, value) -> the result of such a policy."""

    def make(name: str, learned: bool, value: float, **changes: Any) -> Result:
        return Result(name, learned, (made_up_evaluation(value, **changes),))

    return make


@pytest.fixture(scope="session")
def made_up_page() -> Callable[..., Measured]:
    """(configurations, learned policies, baselines of each) -> what a page is written from."""

    def make(
        groups: list[RunGroup], learned: list[Result], baselines: list[list[Result]]
    ) -> Measured:
        return Measured(groups, learned, baselines, baselines[0])

    return make


@pytest.fixture(scope="session")
def figures(_page):
    """The figures of that page by name."""
    return {name: one.figure for name, one in _page[2].items()}


class Counted(Components):
    """Counts of a step in each region."""

    ill: Any = component("people ill", unit="people", per="region")
    seen: Any = component("people seen", unit="people", per="region")
    paid: Any = component("sum of pay", unit="maximum salaries", per="region")


@on_paper
@dataclasses.dataclass(frozen=True)
class Country(PopulationEnvironment):
    """An environment, as far as reports ask: four regions as groups, a further partition, stages.

    A planner divides a budget and splits two parts of it; an insurer sets everybody's premium.
    """

    name: ClassVar[str] = "country"

    population: int = 8
    horizon: int = 5

    @property
    def _metrics(self) -> Mapping[str, Any]:
        ill, pay = (
            Rate("ill", "seen", sign=-1),
            Rate("paid", "seen", unit="maximum salaries per person"),
        )
        return {
            "illness_rate": ill,
            "pay": pay,
            "illness_disparity": Disparity(ill),
            "pay_disparity": Disparity(pay),
        }

    @cached_property
    def spec(self) -> EnvironmentSpec:
        return EnvironmentSpec(
            components=Counted,
            size_text=f"{self.population} people",
            agents=("insurer", "planner", "employer"),
            groups=("North", "East", "South", "West"),
            metrics=self._metrics,
            group_word="region",
            time_unit="months",
            partitions={"place": ("town", "village", "desert")},
            stages=("well", "waiting", "in hospital"),
            core_attribute="risk",
        )

    def observation_space(self, agent: str) -> EntitySpace:
        """Everybody, with a column per region."""
        regions = tuple(Feature(name, of="region") for name in self.spec.groups)
        rest = (Feature("risk", 1, 5, "1 good to 5 bad"), Feature("premium", 0, 9, "dollars"))
        return EntitySpace(8, (*regions, *rest), (Feature("time", 0, 9, "months"),))

    def action_space(self, agent: str) -> ActionSpace:
        """Premiums; a budget and two splits; two numbers."""
        if agent == "insurer":
            return PerEntity(8, Element("premium", unit="share of the maximum"))
        if agent == "employer":
            return Unit(("salary", "hours"))
        kinds = ("beds", "public_health", "rollover")
        return Shares((kinds, *(per_group(k, self.spec.groups, of=k) for k in kinds[:2])))


@pytest.fixture(scope="session")
def country() -> Any:
    return Country()


@pytest.fixture(scope="session")
def country_run(country, bare_run) -> Any:
    """Two epochs: budget, its split of beds, its split of public health; premiums."""
    budgets = [
        [0.5, 0.3, 0.2, 0.1, 0.2, 0.3, 0.4, 0.25, 0.25, 0.25, 0.25],
        [0.7, 0.2, 0.1, 0.1, 0.1, 0.2, 0.6, 0.9, 0.1, 0.0, 0.0],
    ]
    lines = [
        {
            "epoch": i + 1,
            "actions/insurer/premium": premium,
            "actions/employer/salary": 0.3,
            "actions/employer/hours": 0.7,
            **{
                f"actions/planner/{name}": value
                for name, value in zip(country.action_space("planner").names, row, strict=True)
            },
        }
        for i, (row, premium) in enumerate(zip(budgets, (0.2, 0.6), strict=True))
    ]
    return bare_run(RunConfig("country", objective="uniform"), country, lines, "/z")
