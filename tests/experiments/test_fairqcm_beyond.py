"""Experiments beyond the FairQCM paper: automata, foresight, horizons, with made-up numbers."""

import itertools
from typing import Any

import numpy as np
import pytest

from fairgym.experiments import experiments
from fairgym.experiments.fairqcm import automata, horizons, myopia
from fairgym.experiments.fairqcm._learning import OURS

RNG = np.random.default_rng(0)


def curves(level):
    """Four seeds that rise to a level."""
    return level * np.linspace(0.2, 1.0, 20) + 0.01 * RNG.normal(size=(4, 20))


def learning(experiment, levels):
    """Data of a learning figure: label -> level of all panels."""
    lines = {name: {panel.label: 1.0 for panel in experiment.panels} for name in experiment.lines}
    one = {
        label: {panel.label: curves(level) for panel in experiment.panels}
        for label, level in levels.items()
    }
    return {
        "x": np.arange(20),
        "curves": {"own settings": one, "better settings": {}},
        "lines": lines,
    }


@pytest.mark.parametrize("good", [True, False])
def test_automata_are_compared_with_the_full_memory(good):
    experiment = experiments.get("fairqcm-automata")()
    levels = {"Full": 5.0, "Min": 5.0} | dict.fromkeys(automata.NAMES, 9.0 if good else 2.0)
    outcome = experiment.conclude(learning(experiment, levels))
    assert {check.outcome for check in outcome.checks} == {"holds" if good else "contradicted"}
    assert {check.kind for check in outcome.checks} == {"own prediction"}
    assert set(outcome.figures) == {"own-settings", "states"}
    assert outcome.tables[-1].rows[0][1] == "455"


def test_numbers_of_states_are_those_of_enumerated_episodes():
    """All ways to hand out at most twelve doughnuts to three people."""
    found = automata.numbers_of_states()
    got = [u for u in itertools.product(range(13), repeat=3) if sum(u) <= 12]
    assert found["Full"][0] == len(got)
    assert found["Min"][0] == len({tuple(np.subtract(u, min(u)).tolist()) for u in got})
    assert found[automata.ROUNDS] == [2**3 - 1] * 5
    assert found[automata.NEAR_TIES] == [3**3 - 2**3] * 5


@pytest.mark.parametrize("good", [True, False])
def test_foresight_is_compared_with_the_exact_policies(good):
    experiment = experiments.get("fairqcm-myopia")()
    levels = dict.fromkeys(experiment.learners, 1.0) | {OURS: 2.3 if good else 0.5}
    data = learning(experiment, levels)
    data["lines"] |= {myopia.BEST: {myopia.WELFARE: 2.19}, myopia.MYOPIC: {myopia.WELFARE: 2.0}}
    outcome = experiment.conclude(data)
    assert {check.outcome for check in outcome.checks} == {"holds" if good else "contradicted"}
    assert len(outcome.checks) == 3 * 2 + 2


@pytest.mark.full
def test_foresight_matters_in_its_shop():
    lines = experiments.get("fairqcm-myopia")().bounds()
    best, myopic = (lines[name][myopia.WELFARE] for name in (myopia.BEST, myopia.MYOPIC))
    assert best > 1.03 * myopic


@pytest.mark.parametrize("good", [True, False])
def test_bounded_memories_are_compared_at_the_longest_horizon(good):
    experiment: Any = experiments.get("fairqcm-horizons")()
    apart = {"Full": 9.0, "None": 12.0}
    learned = {
        label: np.array([[apart.get(label, 2.0 if good else 15.0)] * 4] * 4)
        + 0.01 * RNG.normal(size=(4, 4))
        for label in horizons.MEMORIES
    }
    lines = {key: [1.0, 2.0, 3.0, 4.0] for key in horizons.LINES}
    outcome = experiment.conclude(
        {"horizons": list(horizons.HORIZONS), "learned": learned, "lines": lines}
    )
    assert {check.outcome for check in outcome.checks} == {"holds" if good else "contradicted"}
    (table,) = outcome.tables
    assert all(len(row) == len(table.head) == 5 for row in table.rows)


def test_every_memory_has_the_same_number_of_steps_at_every_horizon():
    experiment = experiments.get("fairqcm-horizons")()
    size = experiment.sizes["paper"]
    made = {}
    for key, config in experiment.grid(size).items():
        given = config.algorithm_args
        horizon = config.environment_args["horizon"]
        made[key] = given["epochs"] * given["episodes_per_epoch"] * horizon
    assert set(made.values()) == {size.epochs * size.steps}
    assert len(made) == 4 * len(horizons.MEMORIES)


@pytest.mark.parametrize("name", ["automata", "myopia"])
def test_short_runs_have_twenty_seeds(name):
    assert experiments.get(f"fairqcm-{name}").sizes["paper"].seeds == 20
