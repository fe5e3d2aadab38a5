"""The examples run, and the README and the docs show code that does."""

import ast
import contextlib
import importlib.util
import io
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from room import Room

import fairgym
import fairgym.utils
from fairgym.algorithms import algorithms
from fairgym.config import RunConfig
from fairgym.config.settings import algorithm_settings
from fairgym.core import FairgymError
from fairgym.fairness import Objective
from fairgym.testing import check_algorithm
from fairgym.training import train
from fairgym.utils.registry import environments

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"


def load(name):
    """The example as a module, imported anew."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def own():
    """`own_environment`, and afterwards no trace of it."""
    yield load("own_environment")
    environments._things.pop("clinic", None)
    sys.modules.pop("example_own_environment", None)


def test_own_environment_is_checked_trained_and_measured(own, capsys):
    """`main` runs `check_environment` and a few epochs of F-MACEM."""
    own.main(epochs=2)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines[:-1]] == ["epoch 1", "epoch 2"]
    env = fairgym.make("clinic")
    measured = ast.literal_eval(lines[-1])
    assert list(measured) == list(env.metrics)
    assert measured["cost"] < 0 and -1 <= measured["incidence"] <= 0
    assert measured["incidence_disparity"] <= 0 and measured["uptake_disparity"] <= 0


@pytest.fixture
def own_algorithm():
    """`own_algorithm`, and afterwards no trace of it."""
    yield load("own_algorithm")
    algorithms._things.pop("evolution-strategies", None)
    sys.modules.pop("example_own_algorithm", None)


@pytest.mark.full
def test_own_algorithm_is_checked_and_learns(own_algorithm, monkeypatch, capsys):
    """Half the epochs of `main` lift the scores out of where they were.

    What it checks before is checked in a system that compiles faster.
    """
    checked = []

    def check(algorithm, env):
        checked.append((env.name, env.population, env.horizon))
        check_algorithm(algorithm, Room(horizon=3))

    monkeypatch.setattr(own_algorithm, "check_algorithm", check)
    own_algorithm.main(epochs=10)
    assert checked == [("loan_simple", 40, 5)]
    found = re.findall(r"(.*): objective (.*) \(standard deviation (.*)\)", capsys.readouterr().out)
    assert [name for name, _, _ in found] == ["untrained", "trained"]
    (low, spread), (high, other) = [(float(mean), float(std)) for _, mean, std in found]
    assert high - 2 * other > low + 2 * spread


@pytest.mark.full
def test_own_algorithm_is_trained_by_its_name_and_its_flags_have_help(own_algorithm, tmp_path):
    settings = {
        setting.name: setting.help for setting in algorithm_settings("evolution-strategies")
    }
    assert settings["pairs"].startswith("Antithetic pairs") and all(settings.values())
    config = RunConfig.from_mapping(
        {
            "environment": "loan_simple",
            "algorithm": "evolution-strategies",
            "population": 300,  # as in `main`: one program for both
            "horizon": 30,
            "epochs": 2,
        }
    )
    run = train(config, tmp_path / "run")
    assert len(run.metrics) == 2 and set(run.policies) == set(run.env.agents)
    learner, still = own_algorithm.EvolutionStrategies(), {"admissions": run.policies["admissions"]}
    state = learner.init(jax.random.key(0), run.env, Objective.uniform(run.env), fixed=still)
    assert set(state.mean) == set(run.env.agents) - {"admissions"}
    assert learner.policies(state)["admissions"] is still["admissions"]
    with pytest.raises(FairgymError, match=r"pairs must be a whole number from 1.*got 0"):
        own_algorithm.EvolutionStrategies(pairs=0)


@pytest.mark.parametrize("name", ["own_environment", "own_algorithm"])
def test_examples_of_ones_own_have_under_150_lines(name):
    assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) < 150


def test_quickstart_runs(monkeypatch, capsys):
    """With fewer people, so that it takes no longer than it must."""
    made = []

    def make(name, **shapes):
        made.append(shapes)
        return fairgym.utils.make(name, **{**shapes, "population": 200})

    monkeypatch.setattr(fairgym, "make", make)
    module = load("quickstart")
    assert made == [{"population": 10_000}]
    census = module.env.census(module.episode.final_state)
    assert sum(int(jnp.sum(count)) for count in census.values()) == 200
    assert "admission_rate" in capsys.readouterr().out


def test_quickstart_is_the_python_of_the_readme():
    text = (ROOT / "README.md").read_text()
    shown = text.split("```python\n")[1].split("```")[0]
    tree = ast.parse((EXAMPLES / "quickstart.py").read_text())
    tree.body = tree.body[1:]  # less the docstring
    assert ast.dump(tree) == ast.dump(ast.parse(shown))


def python_of(page):
    """The Python shown on a page, as one program."""
    return "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))


def page(name, smaller=None):
    """The program of a page of the docs, with parts of it replaced by what takes less time."""
    code = python_of(ROOT / "docs" / f"{name}.md")
    for shown, instead in (smaller or {}).items():
        assert code.count(shown) == 1, shown
        code = code.replace(shown, instead)
    return code


def test_the_page_on_writing_your_own_shows_code_that_runs():
    """Its figure is drawn of made-up runs."""
    names: dict[str, Any] = {"__name__": "page"}
    exec(page("own"), names)
    lines = [{"metrics/profit": x, "metrics/access": -x} for x in (1.0, 2.0)]
    figure = names["metric_against_profit"]([SimpleNamespace(metrics=lines)], "access")
    (line,) = figure.axes[0].lines
    assert line.get_ydata().tolist() == [-1.0, -2.0]


@pytest.mark.usefixtures("own_metric_classes")
def test_the_page_on_metrics_shows_code_that_runs(capsys):
    """Its metrics are what they say of the counts of its episode."""
    names: dict[str, Any] = {"__name__": "page"}
    exec(page("own-metric"), names)
    out = capsys.readouterr().out
    assert "access_ratio" in out
    totals, values = names["episode"].totals, names["values"]
    rates = totals.disbursed / totals.applied
    assert float(values["worst_access"]) == pytest.approx(float(rates.min()))
    assert float(values["access_ratio"]) == pytest.approx(float(rates.min() / rates.max()))
    assert float(values["access_disparity"]) == pytest.approx(float(rates.min() - rates.max()))
    shown = (ROOT / "docs" / "own-metric.md").read_text()
    errors = [text for text in re.findall(r"```text\n(.*?)```", shown, re.DOTALL) if "odds" in text]
    assert len(errors) == 2 and all(text in out for text in errors)
    waits = totals.waited / totals.disbursed
    longest = names["patient"].values(totals)["longest_wait"]
    assert float(longest) == pytest.approx(-float(waits.max()))


def outputs(name, names):
    """What each piece of Python of a page prints, and what the page shows after it."""
    shown = (ROOT / "docs" / f"{name}.md").read_text()
    pieces = re.split(r"```(python|text)\n(.*?)```", shown, flags=re.DOTALL)
    said, found = "", []
    for kind, text in zip(pieces[1::3], pieces[2::3], strict=True):
        if kind == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(text, names)
            said = out.getvalue()
        elif said:
            found.append((said, text))
            said = ""
    return found


@pytest.mark.full
def test_the_page_on_fairness_over_time_shows_code_that_runs():
    """It prints what it shows: the vaccines of figure 1 by hand, one score in four ways."""
    names: dict[str, Any] = {"__name__": "page"}
    found = outputs("fairness-over-time", names)
    assert len(found) == 6 and [said for said, _ in found] == [shown for _, shown in found]
    first, both = names["scores"].values()
    assert first == {
        "long-term": 0.0,
        "every two months": -40.0,  # 40 and 0 after two months
        "anytime": -20.0 - 40.0 - 20.0,
        "at each 40,000": -40.0,
        "stakeholder-first": -2 * (10.0 + 20.0 + 10.0) ** 2,
    }
    assert set(both.values()) == {0.0}
    ways = [float(names[way]) for way in ("in_rollout", "on_trace", "rewards", "from_table")]
    loans = jnp.cumsum(names["episode"].trace.disbursed, axis=0)[jnp.array([5, 11])]
    assert ways == pytest.approx([float(jnp.log1p(loans).sum())] * 4, rel=1e-6)
    assert len(names["automata"]) == names["rounds"].states == 2**3 - 1


@pytest.mark.full
def test_the_page_on_schemes_prints_what_it_shows():
    found = outputs("own-scheme", {"__name__": "page"})
    assert len(found) == 3 and [said for said, _ in found] == [shown for _, shown in found]


@pytest.mark.full
def test_the_page_on_schemes_shows_code_that_runs():
    """Its aggregation, status and filter are what they say, of the counts of its episode."""
    names: dict[str, Any] = {"__name__": "page"}
    smaller = {
        "(0.0, 0.6)": "(0.6,)",
        "epochs=100": "epochs=8",
        "jax.random.key(1), 200,": "jax.random.key(1), 10,",
        "in shop.spec.baselines.items()}": 'in shop.spec.baselines.items() if name == "random"}',
    }
    exec(page("own-scheme", smaller), names)
    means = {name: one.interval("less_envy")[0] for name, one in names["learned"].items()}
    assert means["random"] + 2.0 < means["learned"] <= 24.0  # of turns with nothing wasted
    measured = names["measured"]
    trace = measured.trace
    loans = np.cumsum(trace.disbursed, axis=1)
    envy = (loans.max(2, keepdims=True) - loans).mean(2)
    yearly = (loans.mean(2) - 0.5 * envy)[:, 11::12].sum(1)
    np.testing.assert_allclose(measured.metrics["less_envy"], yearly, rtol=1e-6)
    shares = loans / np.maximum(np.cumsum(trace.applied, axis=1), 1)
    each = shares.mean(2) - (shares.max(2, keepdims=True) - shares).mean(2)
    defaulted = trace.defaulted.sum(2) > 0
    assert defaulted.any()
    np.testing.assert_allclose(names["scores"], (each * defaulted).sum(1), rtol=1e-5)


def test_the_page_for_users_of_ml_fairness_gym_shows_code_that_runs():
    """What it calls recall and so on is that, of the steps; its examples end as there."""
    names: dict[str, Any] = {"__name__": "page"}
    exec(page("coming-from-ml-fairness-gym", {"horizon=5_000": "horizon=400"}), names)
    counts = jax.tree.map(np.asarray, names["steps"])
    good, repaid, given = (
        getattr(counts, name).sum(axis=0) for name in ("would_repay", "successful", "approved")
    )
    np.testing.assert_allclose(names["recall"], repaid / good, rtol=1e-6)
    np.testing.assert_allclose(names["precision"], repaid / given, rtol=1e-6)
    cash = float(names["episode"].final_state.cash)
    assert float(names["profit_rate"]) == pytest.approx((cash - 10_000) / 400)
    np.testing.assert_array_equal(names["cumulative_loans"][-1], given)
    np.testing.assert_allclose(names["final_distribution"].sum(axis=1), 1.0, rtol=1e-5)
    loans = names["own"].totals.applicants[:, 4:].sum(axis=1)  # to the fifth score and above
    np.testing.assert_array_equal(names["own"].totals.approved, loans)
    np.testing.assert_allclose(names["after"].rates, [3.8, 2.1], rtol=1e-6)
    assert names["first"].stage.tolist() == [1] * 6 + [0] * 4
    learned = names["year"]
    assert float(learned.final_state.threshold) == pytest.approx(0.64, abs=0.02)
    burden = np.asarray(learned.totals.burden / learned.totals.qualified)
    assert burden[1] == pytest.approx(2 * burden[0], rel=0.1), "a point costs twice as much"


@pytest.mark.full
def test_the_page_on_adapters_shows_code_that_runs(capsys):
    """Its four pieces follow each other."""
    exec(page("adapters", {}), {"__name__": "page"})
    shape, profit, everybody, one = capsys.readouterr().out.splitlines()
    width = 200 * 17 + 2  # sixteen features and the mark of a person, the context
    assert shape.startswith(f"({width},)") and profit in ("True", "False")
    code = "('is:admissions', 'is:disbursement', 'is:debt_management')"
    assert everybody == f"(8, {20 * 3 + 2 + 3}) {code}"
    assert one.endswith(",) 10")


@pytest.mark.full
def test_independent_ppo_learns_to_earn(capsys):
    history = load("independent_ppo").main(updates=12)
    first, last = history[0]["profit"], history[-1]["profit"]
    assert len(history) == 12 and last > first
    assert capsys.readouterr().out.splitlines()[-1].startswith("profit of an episode")


@pytest.mark.filterwarnings("ignore:.*A Box observation space")
def test_the_example_for_stable_baselines_makes_its_environments():
    """The library itself is not there; what it is given passes Gymnasium's checker."""
    example = load("stable_baselines")
    scaled = SimpleNamespace(normalize_obs=lambda seen: seen)
    for make in (example.make_bank_loans, example.make_debt_management):
        env = make()
        model = SimpleNamespace(
            predict=lambda seen, deterministic, env=env: (env.action_space.sample(), None)
        )
        check_env(env, skip_render_check=True)
        assert "profit" in example.measured(model, env, scaled, episodes=1)


def test_the_tests_that_the_page_names_are_there():
    """Each in the file that stands above it."""
    text = (ROOT / "docs" / "coming-from-ml-fairness-gym.md").read_text()
    parts = re.split(r"\(https://github.com/fairgym/fairgym/blob/main/(tests/[\w/]+\.py)\)", text)
    files = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert len(files) == 4
    for file, rows in files.items():
        named = re.findall(r"`(test_\w+)`", rows.partition("\n## ")[0])
        assert len(named) >= 3
        known = re.findall(r"def (test_\w+)\(", (ROOT / file).read_text())
        assert set(named) <= set(known), set(named) - set(known)


@pytest.mark.full
def test_the_page_on_algorithms_shows_the_example_and_trains_it(monkeypatch, tmp_path, capsys):
    shown = ast.parse(python_of(ROOT / "docs" / "own-algorithm.md"))
    example = ast.parse((EXAMPLES / "own_algorithm.py").read_text())
    classes = [ast.dump(part) for part in example.body if isinstance(part, ast.ClassDef)]
    assert [ast.dump(part) for part in shown.body if isinstance(part, ast.ClassDef)] == classes
    monkeypatch.chdir(tmp_path)
    # a checked example has a test of its own
    monkeypatch.setattr("fairgym.testing.check_algorithm", lambda *args: None)
    smaller = {'"epochs": 20': '"epochs": 2', "episodes=32": "episodes=4"}
    module = ModuleType("strategies")
    monkeypatch.setitem(sys.modules, "strategies", module)
    try:
        exec(page("own-algorithm", smaller), vars(module))
        assert len(module.run.metrics) == 2 and " -> " in capsys.readouterr().out
    finally:
        algorithms._things.pop("evolution-strategies", None)


@pytest.mark.full
def test_the_page_on_traces_shows_code_that_runs(monkeypatch, tmp_path):
    """With fewer people and steps; what it takes apart adds up to what the episode says."""
    monkeypatch.chdir(tmp_path)
    smaller = {
        "population=1_000, horizon=60": "population=60, horizon=20",
        "(1, 12, steps)": "(1, 2, steps)",
        "key, 12, pick": "key, 2, pick",
        "split(key, 8)": "split(key, 2)",
    }
    names: dict[str, Any] = {"__name__": "page"}
    exec(page("watch", smaller), names)
    episode, steps, env = names["episode"], names["steps"], names["env"]
    totals = episode.totals
    rates = totals.approved / jnp.maximum(totals.applied, 1)
    assert jnp.allclose(names["rates"][-1], rates)
    assert sum(int(count[steps].sum()) for count in episode.watched["census"].values()) == 60
    ended = env.people(episode.final_state)["qualification_score"]
    first = env.people(episode.final_state)["group"] == 0
    mean = float(jnp.mean(ended[first]))
    assert float(names["qualification"][steps, 0]) == pytest.approx(mean, rel=1e-5)
    assert (tmp_path / "qualification.png").stat().st_size > 5_000


@pytest.mark.full
def test_getting_started_shows_code_that_runs(monkeypatch, tmp_path):
    """With the shapes of other small runs, whose programs it shares."""
    episodes = '"episodes_per_epoch": 8, "evaluation_episodes": 2'
    smaller = {
        "population=1_000": "population=60, horizon=20",
        '"population": 1_000': '"population": 60, "horizon": 20',
        '"epochs": 5': f'"epochs": 1, "hidden": 8, {episodes}',
        "episodes=8": "episodes=6",
    }
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    exec(page("getting-started", smaller), names)
    assert 1 <= int(names["episode"].length) <= 20  # a bank may fail
    assert (tmp_path / "runs" / "python" / "summary.json").exists()
