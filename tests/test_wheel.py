"""The wheel in an environment of its own, used as somebody without the repository uses it."""

import json
import os
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[1]
LEARNER = '''
"""A walk over fixed actions, which keeps what is better."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp

from fairgym import algorithms as fa
from fairgym.policies import Constant


class WalkState(fa.TrainState):
    level: jax.Array
    best: jax.Array


@fa.algorithms.register("walk")
@dataclasses.dataclass(frozen=True)
class Walk(fa.Algorithm[WalkState]):
    """Hyperparameters of the walk.

    Attributes:
        epochs: number of steps.
        stride: standard deviation of a step.
    """

    epochs: int = 3
    stride: float = 0.1

    @property
    def num_updates(self):
        return self.epochs

    def init(self, key, env, objective, *, params=None, fixed=None):
        fields = fa.init_fields(key, env, objective, params, fixed)
        return WalkState(**fields, level=jnp.float32(0.5), best=jnp.float32(-jnp.inf))

    def policies(self, state):
        spaces = {agent: state.env.action_space(agent) for agent in state.env.agents}
        return {a: Constant(space, state.level) for a, space in spaces.items()} | state.fixed

    @eqx.filter_jit
    def update(self, state):
        now, later = state.next_key()
        step = self.stride * jax.random.normal(now)
        tried = state.replace(level=jnp.clip(state.level + step, 0.0, 1.0))
        keys = jax.random.split(now, 2)
        episodes = fa.run_episodes(state.env, state.params, self.policies(tried), keys)
        log = fa.log_episodes(state.env, state.objectives, episodes)
        better = log["objective"] > state.best
        return state.replace(
            level=jnp.where(better, tried.level, state.level),
            best=jnp.where(better, log["objective"], state.best),
            key=later,
            updates=state.updates + 1,
        ), log
'''
# The environment of the examples, one metric of its own beside its metrics, weights of its own.
CONFIG = """
population: 30
horizon: 4
epochs: 3
objective:
  weights: {cost: 1, sickness_gap: 2}
  metrics:
    sickness_gap: {type: Disparity, rate: {numerator: cases, denominator: people}}
"""


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """An environment with the built wheel, and what it depends on from that of the tests."""
    home = tmp_path_factory.mktemp("clean")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "-d", home / "dist"]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = (home / "dist").glob("fairgym-*.whl")
    # no pip: the tests' own installer puts the wheel there
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home / "env"], check=True)
    python = home / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    install = [sys.executable, "-m", "uv", "pip", "install", "--offline", "--no-cache", "--no-deps"]
    subprocess.run([*install, "--python", python, wheel], check=True, capture_output=True)
    (site,) = {path.parent for path in home.glob("env/**/site-packages/fairgym")}
    # A plain entry of the path: the editable install that it holds is not obeyed there.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Outside(python, site)


class Outside:
    """Commands of the clean environment, each in a process of its own."""

    def __init__(self, python, site):
        self.python, self.site = python, site
        self.variables = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}

    def __call__(self, folder, *words):
        return self._run(folder, [self.python.with_name("fairgym"), *words])

    def run_python(self, folder, code):
        return self._run(folder, [self.python, "-c", textwrap.dedent(code)]).stdout

    def _run(self, folder, words):
        variables = self.variables | {"COLUMNS": "200"}
        return subprocess.run(words, cwd=folder, env=variables, capture_output=True, text=True)


@pytest.fixture(scope="module")
def home(clean, tmp_path_factory):
    """A folder of somebody's own, with an environment, an algorithm and a trained run."""
    home = tmp_path_factory.mktemp("home")
    (home / "my_world.py").write_text((ROOT / "examples" / "own_environment.py").read_text())
    (home / "my_learner.py").write_text(LEARNER)
    (home / "own.yaml").write_text(f"environment: clinic\n{CONFIG}")
    given = "--import my_world train --config own.yaml --import=my_learner --algorithm walk"
    done = clean(home, *given.split(), "--stride", "0.2", "--params.visits", "0.5", "--out", "x")
    assert done.returncode == 0, done.stderr
    return home


def test_a_run_of_ones_own_parts(home):
    """Own environment, algorithm, weights and metric, from the command line."""
    config = json.loads((home / "x" / "config.json").read_text())
    assert config["imports"] == ["my_world", "my_learner"]
    assert config["algorithm_args"] == {"epochs": 3, "stride": 0.2}
    assert config["objective"]["weights"] == {"cost": 1, "sickness_gap": 2}
    assert config["params"]["visits"] == 0.5 and config["environment_args"]["population"] == 30
    lines = [json.loads(line) for line in (home / "x" / "metrics.jsonl").read_text().splitlines()]
    assert len(lines) == 3
    for line in lines:
        # the same by the names of the environment's own metrics
        assert line["metrics/sickness_gap"] == pytest.approx(
            line["metrics/incidence_disparity"], abs=1e-6
        )
        weighed = line["metrics/cost"] / 30 + 2 * line["metrics/sickness_gap"]  # per person
        assert line["objective"] == pytest.approx(weighed, rel=1e-4, abs=1e-5)


def test_it_is_evaluated_in_a_fresh_process(clean, home):
    done = clean(home, "evaluate", "x", "--episodes", "2", "--all")
    assert done.returncode == 0, done.stderr
    assert "clinic" in done.stdout and "Sickness gap" in done.stdout


def test_it_is_reported_and_loaded_in_a_fresh_process_of_the_wheel(clean, home):
    found = clean.run_python(
        home,
        """
        from fairgym.cli import main
        assert main(["report", "x", "--episodes", "2"]) == 0
        import fairgym
        run = fairgym.load("x")
        print(fairgym.__file__)
        print(type(run.env.unwrapped).__module__, type(run.job.algorithm).__module__)
        print(*run.policies)
        """,
    )
    *_, file, modules, agents = found.splitlines()
    assert Path(file).is_relative_to(clean.site) and str(ROOT) not in file
    assert modules.split() == ["my_world", "my_learner"]
    assert agents.split() == ["outreach", "clinic"]
    page = (home / "x" / "report.html").read_text()
    assert "sickness gap" in page and "clinic" in page and "walk" in page


def test_installed_parts_need_no_import(clean, tmp_path):
    """Entry points of a distribution: a class, and a module that registers."""
    info = clean.site / "my_parts-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-parts\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text(
        "[fairgym.environments]\ninstalled-clinic = my_parts_world:Clinic\n"
        "[fairgym.algorithms]\nwalk = my_parts_learner\nbroken = my_parts_none:Nothing\n"
    )
    example = (ROOT / "examples" / "own_environment.py").read_text()
    (clean.site / "my_parts_world.py").write_text(example)
    (clean.site / "my_parts_learner.py").write_text(LEARNER)
    (tmp_path / "own.yaml").write_text(f"environment: installed-clinic\nalgorithm: walk\n{CONFIG}")
    done = clean(tmp_path, "train", "--config", "own.yaml", "--out", "x")
    assert done.returncode == 0, done.stderr
    config = json.loads((tmp_path / "x" / "config.json").read_text())
    assert "imports" not in config and config["provenance"]["versions"]["my-parts"] == "1.5"
    listed = clean.run_python(
        tmp_path,
        """
        from fairgym.cli import main
        assert main(["list"]) == 0
        import fairgym
        print(fairgym.load("x").env.name)
        """,
    )
    assert listed.splitlines()[-1] == "clinic"
    assert "a vaccination clinic that town and villages reach unequally. [my-parts 1.5]" in listed
    assert "(the algorithm 'broken' of my-parts 1.5 cannot be loaded" in listed
