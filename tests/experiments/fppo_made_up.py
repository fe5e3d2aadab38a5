"""Made-up numbers for the F-PPO figures that agree or disagree with the claims."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from fairgym.experiments import experiments
from fairgym.experiments.fppo._claims import LONG, REWARD, SHORT
from fairgym.experiments.fppo._courses import AS_LEARNED, BIAS
from fairgym.experiments.fppo._several import FIGURES
from fairgym.experiments.fppo._systems import CPO, ELBERT, LAGRANGIAN
from fairgym.experiments.fppo.fig1 import APPROVED, OF_MEANS
from fairgym.experiments.fppo.fig2 import LEARNERS, SYSTEMS
from fairgym.experiments.fppo.fig3 import LATELY
from fairgym.experiments.fppo.goals import LIMITS, SCORED, SHORT_BOUND, long_bound
from fairgym.experiments.fppo.massaging import ATTENTION, EPIDEMIC, READINGS, WITHOUT
from fairgym.experiments.fppo.variants import VARIANTS

# Policy -> short-term unfairness, long-term unfairness and reward, each at the start and at the end
# of an episode. With these numbers the claims hold; with those of `BAD` they do not.
COURSES = {
    "fppo-fig1": {
        "EO": ((0.0, 0.02), (1.0, 0.9), (10_000, 11_700)),
        "PPO": ((0.2, 0.3), (1.0, 1.0), (10_000, 11_800)),
        "A-PPO": ((0.0, 0.05), (1.0, 1.5), (10_000, 11_700)),
        "F-PPO": ((0.0, 0.05), (1.0, 0.4), (10_000, 11_600)),
    },
    "fppo-fig3": {
        "F-PPO": ((0.3, 0.08), (3.5, 1.0), (1.6, 2.4)),
        "PPO": ((0.3, 0.2), (3.5, 1.3), (1.6, 2.3)),
        "A-PPO": ((0.3, 0.05), (3.5, 4.0), (1.6, 1.7)),
        "CPO": ((0.3, 0.2), (3.5, 1.4), (1.6, 2.5)),
    },
    "fppo-fig4": {
        "Max": ((0.0, 1.7), (0.3, 0.6), (0.5, 0.33)),
        "PPO": ((0.0, 1.4), (0.3, 0.5), (0.5, 0.25)),
        "A-PPO": ((0.0, 0.16), (0.3, 0.4), (0.5, 0.15)),
        "F-PPO": ((0.0, 0.46), (0.3, 0.2), (0.5, 0.22)),
    },
}
BAD = {
    "fppo-fig1": {
        "EO": ((0.2, 0.3), (1.0, 0.5), (10_000, 11_000)),
        "PPO": ((0.0, 0.05), (1.0, 0.6), (10_000, 11_800)),
        "A-PPO": ((0.2, 0.3), (1.0, 0.4), (10_000, 10_200)),
        "F-PPO": ((0.2, 0.3), (1.0, 1.5), (10_000, 11_800)),
    },
    "fppo-fig3": {
        "F-PPO": ((0.3, 0.3), (3.5, 4.0), (1.6, 1.5)),
        "PPO": ((0.3, 0.2), (3.5, 1.3), (1.6, 2.0)),
        "A-PPO": ((0.3, 0.4), (3.5, 1.0), (1.6, 2.4)),
        "CPO": ((0.3, 0.1), (3.5, 1.4), (1.6, 2.0)),
    },
    "fppo-fig4": {
        "Max": ((0.0, 0.1), (0.3, 0.2), (0.5, 0.1)),
        "PPO": ((0.0, 0.5), (0.3, 0.3), (0.5, 0.2)),
        "A-PPO": ((0.0, 1.2), (0.3, 0.4), (0.5, 0.4)),
        "F-PPO": ((0.0, 1.0), (0.3, 0.6), (0.5, 0.3)),
    },
}


def course(first: float, last: float, scale: float = 1.0) -> np.ndarray:
    """Return courses of four seeds, (seeds, steps)."""
    shift = 0.002 * scale * np.array([-1.0, 1.0, 0.5, -0.5])
    return np.linspace(first + shift, last + shift, 40).T


def system(name: str, ends: dict[str, Any]) -> dict[str, Any]:
    """Return the data of figure 1, 3 or 4 with these first and last numbers."""
    figure: Any = experiments.get(name)()
    found = figure.panels(figure.evaluated_in())
    panels = {panel.label: panel.what for panel in found}
    courses = {}
    for label, numbers in ends.items():
        of: dict[str, Any] = dict(zip((SHORT, LONG, REWARD), numbers, strict=True))
        of |= dict.fromkeys((OF_MEANS, BIAS, LATELY), numbers[0]) | {APPROVED: (0.5, 0.9)}
        courses[label] = {
            panel: course(*of[what], scale=max(1.0, abs(of[what][0]) / 100))
            for panel, what in panels.items()
        }
    smooth = dict.fromkeys(panels, 1)
    modes = {label: one for label, one in courses.items() if label in ("F-PPO", "PPO")}
    data = {"courses": courses, "mode": modes, "panels": panels, "smooth": smooth}
    data["where"] = {panel.label: panel.where for panel in found}
    first, *_, last = courses.values()
    return data | {"blind": {"score 3 or more": first, "at random": last}}


def courses(name: str, good: bool) -> Any:
    ends = dict((COURSES if good else BAD)[name])
    figure: Any = experiments.get(name)()
    middle = ends["PPO"]
    for label in (AS_LEARNED, "PPO-Lagrangian", "ELBERT-PO", *figure.references):
        ends[label] = middle
    return system(name, ends)


def training(good: bool) -> Any:
    """Return short-term unfairness in training, with and without massaging."""
    with_it, without = LEARNERS if good else LEARNERS[::-1]
    return {
        words: {
            "rounds": 7,
            "massaged_from": 17,
            "curves": {with_it: course(0.1, 0.05), without: course(0.1, 0.3)},
            "spreads": {with_it: course(0.1, 0.05), without: course(0.1, 0.3)},
        }
        for words in SYSTEMS
    }


def variants(good: bool) -> Any:
    data = {}
    for name, figure in FIGURES.items():
        of = COURSES[figure]
        worse, better = of["PPO"], of["F-PPO"]
        if not good:
            worse, better = better, worse
        ends = {"PPO": worse, "F-PPO-S": worse, **dict.fromkeys(VARIANTS, better)}
        data[name] = system(figure, ends)
    return data


def several(name: str, ends: dict[str, Any]) -> Any:
    """Return the data of one of several systems with these first and last numbers."""
    return system(FIGURES[name], ends)


def known(good: bool) -> Any:
    """Return a lower bias of ELBERT-PO at the reward of A-PPO, and bounds that are kept."""
    data = {}
    for name in FIGURES:
        cash = 10_000.0 if name == "bank loans" else 0.0
        rewards = (cash + 1_000.0, cash + 1_000.0)
        lower, higher = ((0.01, 0.01), rewards), ((0.5, 0.5), rewards)
        if not good:
            lower, higher = ((0.5, 0.5), (cash, cash + 1.0)), ((0.3, 0.3), rewards)
        labels = [ELBERT, LAGRANGIAN, *([CPO] if name == ATTENTION else [])]
        ends = {"A-PPO": higher, **dict.fromkeys(labels, lower)}
        data[name] = several(
            name, {n: (unfair, unfair, paid) for n, (unfair, paid) in ends.items()}
        )
    return data


def massaging(good: bool) -> Any:
    """Return policies that have learned to be fairer at the same reward, or not."""
    fair, unfair = ((0.1, 0.1), (1.0, 1.0), (2.0, 2.0)), ((0.5, 0.5), (1.0, 1.0), (2.0, 2.0))
    if not good:
        fair, unfair = ((0.6, 0.6), (1.0, 1.0), (1.0, 1.0)), unfair
    readings = dict.fromkeys(READINGS, fair)
    return {name: several(name, {WITHOUT: unfair, **readings}) for name in (ATTENTION, EPIDEMIC)}


def goals(good: bool) -> Any:
    """Return ways that reach all three goals, or none."""
    data = {}
    for name, limits in LIMITS.items():
        cash = 10_000.0 if name == "bank loans" else 0.0
        ppo = ((0.5, 0.5), (1.0, 1.0), (cash + 1_000.0, cash + 1_000.0))
        ours = ((0.1, 0.1), (0.5, 0.5), (cash + 1_000.0, cash + 1_000.0))
        if not good:
            ours = ((0.7, 0.7), (1.5, 1.5), (cash + 1.0, cash + 1.0))
        labels = ["F-PPO", SCORED, SHORT_BOUND, *map(long_bound, limits)]
        data[name] = several(name, {"PPO": ppo, **dict.fromkeys(labels, ours)})
    return data


def authors(good: bool) -> Any:
    """Return an F-PPO that is fairer than PPO in both terms, or in none."""
    data = {}
    for name, figure in FIGURES.items():
        of = COURSES[figure]
        worse, better = of["PPO"], of["F-PPO"]
        if not good:
            worse, better = better, worse
        data[name] = several(name, {"PPO": worse, "A-PPO": worse, "F-PPO": better})
    return data


MADE_UP: dict[str, Callable[[bool], Any]] = {
    **{name: functools.partial(courses, name) for name in COURSES},
    "fppo-fig2": training,
    "fppo-authors": authors,
    "fppo-goals": goals,
    "fppo-learners": known,
    "fppo-massaging": massaging,
    "fppo-variants": variants,
}
