"""Learners of FairQCM's figures against random choice, with made-up numbers."""

import itertools
import re
from typing import Any

import numpy as np
import pytest

from fairgym.experiments import experiments

RANDOM, PRESENT = -20.0, -13.0
# last tenth of four seeds, and how it compares with both
SEEDS = {
    "FairQCM": ((-2.0, -9.0, -5.0, -4.0), "above", "above"),
    "Full": ((-70.0, -22.0, -45.0, -30.0), "below", "below"),
    "Min": ((-18.0, -12.0, -17.0, -10.0), "above", "not told apart"),
    "None": ((-19.0, -21.0, -16.0, -14.0), "not told apart", "below"),
}


def made_up(experiment: Any) -> Any:
    """Curves that are far above random choice until their last tenth, two of 20 epochs."""
    score, *others = (panel.label for panel in experiment.panels)

    def one(ends):
        rows = np.array([[500.0] * 18 + [end - 1.0, end + 1.0] for end in ends])
        return {score: rows, **{other: rows + 7.0 for other in others}}

    curves = {label: one(ends) for label, (ends, *_) in SEEDS.items()}
    levels = {name: 0.0 for name in (*experiment.lines, *experiment.bounds())}
    levels |= {name: RANDOM for name in levels if name == "Random"}
    levels["Random among those present"] = PRESENT
    return {
        "x": np.arange(20),
        "curves": {
            "published settings": curves,
            "better settings": {"FairQCM": curves["FairQCM"]},
            "equal tuning": {},
        },
        "lines": {
            name: {score: level, **dict.fromkeys(others, 50.0)} for name, level in levels.items()
        },
    }


def expected(ends, level):
    """Mean of the middle two of four seeds, and its quantiles over all 256 resamples."""
    resampled = list(itertools.product(np.array(ends) - level, repeat=4))
    means = [sum(sorted(one)[1:3]) / 2 for one in resampled]
    return [sum(sorted(ends)[1:3]) / 2 - level, *np.quantile(means, [0.025, 0.975])]


def numbers(cell):
    return [float(x) for x in re.findall(r"-?[0-9.]+", cell.replace("−", "-"))]


@pytest.mark.parametrize("name", [f"fairqcm-fig{n}" for n in (2, 3, 4, 5)])
def test_every_learner_is_compared_with_random_choice(name):
    experiment: Any = experiments.get(name)()
    table = experiment._against_random(made_up(experiment))
    assert list(table.head) == [
        "settings",
        "learner",
        "minus Random",
        "minus Random among those present",
    ]
    settings = [("published settings", label) for label in SEEDS]
    assert [tuple(row[:2]) for row in table.rows] == [*settings, ("better settings", "FairQCM")]
    for _, label, *cells in table.rows:
        ends, *words = SEEDS[label]
        for cell, level, word in zip(cells, (RANDOM, PRESENT), words, strict=True):
            assert cell.endswith(f", {word}")
            assert numbers(cell) == pytest.approx(expected(ends, level), abs=0.06)


def test_a_figure_without_random_choice_among_all_has_one_comparison():
    experiment: Any = experiments.get("fairqcm-automata")()
    data = made_up(experiment)
    table = experiment._against_random(data)
    assert list(table.head)[2:] == ["minus Random among those present"]
    assert [row[2].partition("], ")[2] for row in table.rows] == [
        *(words[2] for words in SEEDS.values()),
        "above",
    ]


def test_the_comparison_stands_below_the_scores():
    experiment: Any = experiments.get("fairqcm-fig5")()
    scores, against = experiment.conclude(made_up(experiment)).tables
    assert "Means of the learning curve" in scores.caption
    assert against == experiment._against_random(made_up(experiment))
