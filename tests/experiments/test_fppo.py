"""F-PPO figures: trained configurations and measured courses."""

import dataclasses
import types
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fppo_made_up import MADE_UP

from fairgym.experiments import Size, experiments
from fairgym.experiments._measurements import held_out
from fairgym.experiments.fppo._claims import (
    LONG,
    REWARD,
    SHORT,
    Courses,
    Order,
    orders_table,
    outcomes_table,
    published_table,
)
from fairgym.experiments.fppo._courses import AS_LEARNED, lately
from fairgym.experiments.fppo._frontier import blind_rules, frontier_table
from fairgym.experiments.fppo._systems import A_PPO, ELBERT, F_PPO, LAGRANGIAN, PPO
from fairgym.experiments.fppo.fig1 import FppoFig1, gap_of_means
from fairgym.policies import fixed_policies, sampled
from fairgym.training import train
from fairgym.utils import make
from fairgym.wrappers import augmented

FIGURES = {"fppo-fig1": "bank_loans", "fppo-fig3": "attention", "fppo-fig4": "epidemic"}
# the paper's training steps and evaluation episodes
STEPS = {"bank_loans": 700_000, "attention": 2_000_000, "epidemic": 500_000}
EPISODES = {"bank_loans": 10, "attention": 10, "epidemic": 200}


@pytest.mark.parametrize("name", [*FIGURES, "fppo-fig2", "fppo-variants"])
@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_learners_have_equal_budgets_and_the_length_of_the_paper(name, scale):
    experiment = experiments.get(name)()
    size = experiment.size(scale)
    most = 20 if name == "fppo-fig1" else 10
    assert size.seeds == (most if scale == "paper" else 3)
    steps: dict[str, set[int]] = {}
    for config in experiment.grid(size).values():
        job: Any = config.build()
        algorithm = job.algorithm
        rounds = algorithm.epochs * algorithm.rounds(job.env)
        of_round = algorithm.num_envs * algorithm.num_steps
        steps.setdefault(job.env.name, set()).add(rounds * of_round)
        assert job.config.objective == "published"
    for system, found in steps.items():
        (one,) = found
        if scale == "paper":
            assert one == pytest.approx(STEPS[system], rel=0.01)
    if name in FIGURES and scale == "paper":
        assert size.held_out == EPISODES[FIGURES[name]]


def test_hyperparameters_are_the_published_ones():
    """Section VI and the authors' code: lambda, delta, the schedule of tau, and A-PPO's numbers."""
    f_ppo = {
        "fppo-fig1": (1.0, 0.05, 17, 0.985, 1.0),
        "fppo-fig3": (0.15, 0.1, 15, 0.0, 0.08),
        "fppo-fig4": (0.25, 0.05, 50, 1.2, 0.35),
    }
    a_ppo = {
        "fppo-fig1": (0.25, 0.25, 0.005),
        "fppo-fig3": (0.15, 0.15, 0.05),
        "fppo-fig4": (0.1, 0.1, 0.05),
    }
    for name in FIGURES:
        experiment = experiments.get(name)()
        grid = experiment.grid(experiment.size("paper"))
        own: Any = grid["F-PPO"].build().algorithm
        assert f_ppo[name] == (
            *(own.regularise, own.delta),
            *(own.threshold_start, own.threshold_rate, own.threshold),
        )
        assert (own.massage, own.scale, own.long_term) == (True, "minibatch", "long_term_window")
        other: Any = grid["A-PPO"].build().algorithm
        assert a_ppo[name] == (other.value_weight, other.growth_weight, other.tolerance)
        assert (own.clip_eps, own.gamma, own.gae_lambda) == (0.2, 0.99, 0.95)


def test_the_authors_learners_have_the_settings_of_their_code():
    """F-PPO's long-term measure is present health in the epidemic, otherwise that of the window."""
    experiment = experiments.get("fppo-authors")()
    long_terms = {}
    for key, config in experiment.grid(experiment.size("paper")).items():
        job: Any = config.build()
        algorithm = job.algorithm
        steps = algorithm.num_envs * algorithm.num_steps
        batch = steps // algorithm.num_minibatches
        assert (algorithm.num_envs, steps, batch, algorithm.learning_rate) == (1, 2_048, 64, 1e-5)
        long_terms[key] = algorithm.long_term if key.endswith(": F-PPO") else None
    assert {key: name for key, name in long_terms.items() if name} == {
        "bank loans: F-PPO": "long_term_window",
        "attention: F-PPO": "long_term_window",
        "epidemic: F-PPO": "long_term",
    }
    assert len(long_terms) == 9


def test_figures_share_their_runs():
    size = experiments.get("fppo-fig2")().size("paper")
    ablation, variants = (experiments.get(f"fppo-{n}")().grid(size) for n in ("fig2", "variants"))
    for name, system in FIGURES.items():
        experiment = experiments.get(name)()
        own = experiment.grid(experiment.size("paper"))["F-PPO"]
        words = system.replace("_", " ")
        assert own == ablation[f"{system}: F-PPO"] == variants[f"{words}: window, scaled"]


def test_means_of_the_last_steps_by_a_loop():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 12, 3))
    found = lately(values, 5)
    for step in range(12):
        expected = values[:, max(0, step - 4) : step + 1].mean(axis=1)
        np.testing.assert_allclose(found[:, step], expected, atol=1e-12)


def test_the_gap_of_mean_rates_by_a_loop():
    rng = np.random.default_rng(1)
    would_repay = rng.integers(2, size=(3, 20, 2)) * (rng.random((1, 20, 2)) < 0.5)
    would_repay[:, :3, 1] = 0  # nobody at first
    successful = would_repay * rng.integers(2, size=would_repay.shape)
    trace = types.SimpleNamespace(successful=successful, would_repay=would_repay)
    found = gap_of_means(trace, 6)
    for step in range(20):
        window = slice(max(0, step - 5), step + 1)
        rates = []
        for group in (0, 1):
            of_runs = [
                successful[run, window, group].sum() / would_repay[run, window, group].sum()
                for run in range(3)
                if would_repay[run, window, group].sum()
            ]
            rates.append(np.mean(of_runs) if of_runs else None)
        expected = 0.0 if None in rates else abs(rates[0] - rates[1])
        assert found[step] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", FIGURES)
def test_courses_are_those_of_the_trace(name):
    """Every panel of a hand-written policy agrees with a loop over the components."""
    figure: Any = experiments.get(name)()
    if name == "fppo-fig1":
        figure.evaluated_in = lambda **more: make("bank_loans", horizon=400, **more)
    env = figure.evaluated_in()
    policies = fixed_policies(env, env.spec.baselines["random"])
    courses = figure.courses({5: (env, policies)}, 2)
    trace = held_out(env, env.default_params, policies, 5, 2).trace
    loops = {"fppo-fig1": of_loans, "fppo-fig3": of_sites, "fppo-fig4": of_communities}[name]
    expected = np.mean([loops(trace, episode) for episode in range(2)], axis=0)
    told = (SHORT, LONG, REWARD)
    found = [courses[panel.label][0] for panel in figure.panels(env) if panel.what in told]
    np.testing.assert_allclose(np.array(found), expected.T, atol=2e-3)


def of_loans(trace: Any, episode: int) -> np.ndarray:
    """Return gap of true positive rates of 300 steps, distance of scores and cash, by step."""
    rows = []
    for step in range(len(trace.cash[episode])):
        window = slice(max(0, step - 299), step + 1)
        repaid, would = (
            np.asarray(x[episode, window]).sum(axis=0)
            for x in (trace.successful, trace.would_repay)
        )
        gap = abs(np.subtract(*(repaid / np.maximum(would, 1))))  # 0/0 is 0
        shares = np.asarray(trace.score_shares[episode, step])
        distance = np.abs(np.cumsum(shares[0] - shares[1])).sum()
        rows.append((gap, distance, float(trace.cash[episode, step])))
    return np.array(rows)


def of_sites(trace: Any, episode: int) -> np.ndarray:
    """Return largest deviations of unit shares so far and of rates, and reward, by step."""
    rows = []
    for step in range(trace.sent.shape[1]):
        sent = np.asarray(trace.sent[episode, : step + 1]).sum(axis=0)
        rates = np.asarray(trace.rates[episode, step])
        found, missed = (np.asarray(x[episode, step]).sum() for x in (trace.found, trace.missed))
        rows.append(
            (
                np.abs(sent / sent.sum() - 0.2).max(),
                np.abs(rates - rates.mean()).max(),
                found - 0.25 * missed,
            )
        )
    return np.array(rows)


def of_communities(trace: Any, episode: int) -> np.ndarray:
    """Return gap of vaccines per new infection, distance of health, and share not infected."""
    rows = []
    for step in range(trace.vaccinated.shape[1]):
        given, ill = (
            np.asarray(x[episode, : step + 1]).sum(axis=0)
            for x in (trace.vaccinated, trace.newly_infected)
        )
        health = np.asarray(trace.health[episode, step])
        shares = health / health.sum(axis=1, keepdims=True)
        well, people = (
            np.asarray(x[episode, step]).sum() for x in (trace.not_infected, trace.people)
        )
        gap = abs(np.subtract(*(given / (ill + 1))))
        rows.append((gap, 0.5 * np.abs(shares[0] - shares[1]).sum(), well / people))
    return np.array(rows)


def test_learners_are_compared_as_independent_samples():
    rows = {"a": np.tile([[0.0, 1.0]], (3, 5)), "b": np.tile([[1.0, 2.0]], (3, 5))}
    rows["b"][:, -1] += [0.0, 0.1, 0.2]
    found = Courses({name: {"gap": one} for name, one in rows.items()}, {SHORT: "gap"})
    (check,) = found.lower(SHORT, "a", ["b"])
    assert check.outcome == "holds" and check.estimate == pytest.approx(1.01)
    error = 0.01 / 3**0.5  # the standard error of b, whose degrees of freedom are those of Welch
    assert (check.high - check.estimate) == pytest.approx(4.302653 * error, rel=1e-4)
    (other,) = found.more(SHORT, "a", ["b"])
    assert other.outcome == "contradicted"
    two = {"a": {"gap": np.tile([[1.0], [0.0], [0.0], [1.0], [1.0]], 10)}, "b": {"gap": rows["b"]}}
    (told,) = Courses(two, {SHORT: "gap"}).lower(SHORT, "a", ["b"])
    assert told.detail.endswith("; a: 0 with 2 seeds, 1 with 3")
    assert found.first("b", SHORT) == pytest.approx(np.ones(3))
    assert found.last("b", SHORT) == pytest.approx([2.0, 2.1, 2.2])
    assert found.final("b", SHORT) == pytest.approx([2.0, 2.1, 2.2])


def test_orders_outcomes_and_published_values_are_told_by_seed():
    ends = {"a": [1.0, 3.0, 1.0], "b": [2.0, 2.0, 2.0], "c": [2.5, 4.0, 1.5]}
    courses = {
        label: {"gap": np.tile(np.array(own)[:, None], (1, 10))} for label, own in ends.items()
    }
    found = Courses(courses, {SHORT: "gap"})
    assert Order(SHORT, (("a",), ("b", "c"))).seeds(found) == (2, 3)
    assert Order(SHORT, (("a",), ("b",), ("c",))).seeds(found) == (1, 3)
    table = orders_table(found, [Order(SHORT, (("a",), ("b", "c")))])
    assert table.rows == [["gap", "a < b and c", "2 of 3 seeds"]]
    outcomes = {"large": lambda found, label: found.last(label, SHORT) > 2.2}
    rows = outcomes_table(found, ["a", "c"], outcomes).rows
    # Exact limits: 1 - (1 - p)^3 = 0.025 and (1 - p)^3 + 3 p (1 - p)^2 = 0.025; and mirrored
    assert rows == [
        ["a", "1 of 3, 0.33 [0.008, 0.91]"],
        ["c", "2 of 3, 0.67 [0.094, 0.99]"],
    ]
    told = published_table(found, {"a": {SHORT: "1.8"}}).rows
    assert told[0][0] == "a" and told[0][1] == "gap" and told[0][3] == "1.8"


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("fppo-variants", ("truth, scaled", "truth, unscaled")),
        ("fppo-massaging", ("sampled action", "massaged, fixed density", "massaged, close by")),
    ],
)
def test_readings_of_this_project_are_own_predictions(name, own):
    checks = experiments.get(name)().conclude(MADE_UP[name](True)).checks
    ours = [any(words in check.statement for words in own) for check in checks]
    assert 0 < sum(ours) < len(ours)
    kinds = ["own prediction" if one else "predicted" for one in ours]
    assert [check.kind for check in checks] == kinds


def orders_of(name: str, data: Any) -> list[list[Any]]:
    """Return the rows of the table of published orders."""
    tables = experiments.get(name)().conclude(data).tables
    (table,) = (one for one in tables if one.caption.startswith("Published orders"))
    return [list(row) for row in table.rows]


def test_the_order_of_the_short_term_in_figure_1_is_told():
    """Three policies are below PPO; made-up seeds that disagree have it below them."""
    words, panel = "EO and A-PPO and F-PPO < PPO", "gap of mean true positive rates"
    for good, held in ((True, 4), (False, 0)):
        rows = orders_of("fppo-fig1", MADE_UP["fppo-fig1"](good))
        assert rows[0] == [panel, words, f"{held} of 4 seeds"]
        assert len(rows) == 2


def test_the_order_of_figure_2_is_told_in_every_system():
    data = MADE_UP["fppo-fig2"](True)
    first = data["largest deviation of units"]["curves"]
    first["F-PPO"][0, -4:] = 1.0  # one seed ends higher, and is lower on average
    told = [row[1:] for row in orders_of("fppo-fig2", data)]
    all_held = ["F-PPO < F-PPO-L", "4 of 4 seeds", "4 of 4 seeds"]
    assert told == [all_held, ["F-PPO < F-PPO-L", "4 of 4 seeds", "3 of 4 seeds"], all_held]


@pytest.mark.parametrize("name", ["fppo-authors", "fppo-goals", "fppo-variants"])
def test_two_outcomes_of_seeds_are_told_where_several_systems_are_compared(name):
    data = MADE_UP[name](True)
    (table,) = (
        table
        for table in experiments.get(name)().conclude(data).tables
        if table.caption.startswith("Bank loans. Outcomes of single seeds")
    )
    assert [row[0] for row in table.rows] == list(data["bank loans"]["courses"])
    assert "lends to nearly everybody" in table.head


def test_blind_rules_approve_by_score_only():
    env = make("bank_loans", horizon=20)
    found = blind_rules(env)
    observation = env.reset(jax.random.key(0), env.default_params)[0]["bank"]
    for lowest in (1, 4, 7):
        bank = found[f"score {lowest} or more"]["bank"]
        for score in range(1, 8):
            for group in (0.0, 1.0):
                features = jnp.array([[float(score), group]])
                taken = bank(observation.replace(features=features), jax.random.key(1))
                assert int(taken) == (score >= lowest)
    ends = {
        "x": (np.array([0.5, 0.6]), np.array([10.0, 12.0])),
        "y": (np.array([0.7, 0.8]), np.array([9.0, 9.0])),
        "z": (np.array([0.7, 0.8]), np.array([20.0, 20.0])),
    }
    assert [row[-1] for row in frontier_table(ends).rows] == ["yes", "no", "yes"]


TINY = {"layers": (4,), "critic_layers": (4,), "num_envs": 2, "num_steps": 20, "update_epochs": 1}


class Tiny(FppoFig1):
    """Figure of bank loans with short episodes."""

    evaluation_args: ClassVar = {"horizon": 50}


@pytest.mark.full
def test_each_label_has_its_own_policies(tmp_path):
    """One curve of F-PPO is massaged, the other is not; both sample, the second table does not."""
    figure, size = Tiny(), Size(epochs=2, episodes=2, held_out=3, seeds=2)
    grid, runs = figure.grid(size), {}
    for label, more in ((F_PPO, {"threshold_start": 0, "threshold_rate": 0.0}), (PPO, {})):
        own = {**grid[label].algorithm_args, **TINY, **more}
        config = dataclasses.replace(
            grid[label],
            environment_args={**grid[label].environment_args, "horizon": 40},
            algorithm_args=own,
        )
        runs[label] = [
            train(dataclasses.replace(config, seed=seed), tmp_path / f"{label}-{seed}")
            for seed in range(size.seeds)
        ]
    data = figure.measure(size, runs, range(size.seeds))
    assert set(data["mode"]) == {F_PPO, AS_LEARNED, PPO}
    assert set(data["courses"]) == {F_PPO, AS_LEARNED, PPO, "EO", "random"}
    assert len(data["blind"]) == 8
    others = dict.fromkeys((A_PPO, LAGRANGIAN, ELBERT), data["courses"][PPO])
    outcome = figure.conclude(data | {"courses": {**others, **data["courses"]}})
    assert [len(table.rows) for table in outcome.tables] == [8, 3, 8, 2, 3, 8]
    env = augmented(make("bank_loans", horizon=50, shows_cash=False), "rates")
    for seed, run in enumerate(runs[F_PPO]):
        for sample, courses in ((True, data["courses"]), (False, data["mode"])):
            policies = sampled(env, run.policies) if sample else run.policies
            for label, (inside, own) in {
                F_PPO: run.massaged(env, policies),
                AS_LEARNED: (env, policies),
            }.items():
                trace = held_out(inside, env.default_params, own, seed, 3).trace
                cash = np.asarray(trace.cash).mean(axis=0)
                np.testing.assert_array_equal(courses[label]["cash, in dollars"][seed], cash)
    cash = {label: one["cash, in dollars"] for label, one in data["courses"].items()}
    assert not np.array_equal(cash[F_PPO], cash[AS_LEARNED])
    assert not np.array_equal(cash[PPO], data["mode"][PPO]["cash, in dollars"])
