"""Made-up numbers for the F-PPO figures that agree or disagree with the claims."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from fairgym.experiments import experiments
from fairgym.experiments.fppo._courses import AS_LEARNED, LONG, REWARD, SHORT
from fairgym.experiments.fppo.fig1 import OF_MEANS
from fairgym.experiments.fppo.fig2 import LEARNERS, SYSTEMS
from fairgym.experiments.fppo.variants import FIGURES, VARIANTS

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
        "Max of the code": ((0.0, 1.8), (0.3, 0.6), (0.5, 0.35)),
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
        "Max of the code": ((0.0, 0.1), (0.3, 0.2), (0.5, 0.1)),
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
    panels = {panel.label: panel.what for panel in figure.panels(figure.evaluated_in())}
    courses = {}
    for label, numbers in ends.items():
        of = dict(zip((SHORT, LONG, REWARD), numbers, strict=True)) | {OF_MEANS: numbers[0]}
        courses[label] = {
            panel: course(*of[what], scale=max(1.0, abs(of[what][0]) / 100))
            for panel, what in panels.items()
        }
    smooth = dict.fromkeys(panels, 1)
    modes = {label: one for label, one in courses.items() if label in ("F-PPO", "PPO")}
    return {"courses": courses, "mode": modes, "panels": panels, "smooth": smooth}


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
        of = COURSES[f"fppo-{figure.__module__.rsplit('.', 1)[1]}"]
        worse, better = of["PPO"], of["F-PPO"]
        if not good:
            worse, better = better, worse
        ends = {"PPO": worse, "F-PPO-S": worse, **dict.fromkeys(VARIANTS, better)}
        data[name] = system(f"fppo-{figure.__module__.rsplit('.', 1)[1]}", ends)
    return data


MADE_UP: dict[str, Callable[[bool], Any]] = {
    **{name: functools.partial(courses, name) for name in COURSES},
    "fppo-fig2": training,
    "fppo-variants": variants,
}
