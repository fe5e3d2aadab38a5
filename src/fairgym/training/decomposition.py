"""A gap between two groups, divided into decisions, starts and dynamics.

Three things may make the outcomes of two groups differ: what is decided about them, the attributes
with which their people start, and everything else that goes with the group (its size, its place,
its rules). Paired episodes change the first two: decisions are blind to the group, and the people
of the two groups exchange their starting attributes. If decisions and starts are both exchanged,
only the rest still tells the groups apart, so that the dynamics are exchanged.
"""

import dataclasses
import itertools
from collections.abc import Mapping
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from fairgym.core import Environment, FairgymError
from fairgym.fairness import Rate
from fairgym.statistics.intervals import mean_interval
from fairgym.training.building import Built
from fairgym.training.evaluation import Evaluation, evaluate, evaluate_each
from fairgym.training.exchange import (
    BLIND,
    EXCHANGED,
    OWN,
    Exchanged,
    ExchangedParams,
    require_exchangeable,
)
from fairgym.utils.changes import slug, unknown

DECISION, START, DYNAMICS = "decision", "start", "dynamics"
PARTS = (
    (),
    (DECISION,),
    (START,),
    (DYNAMICS,),
    (DECISION, START),
    (DECISION, DYNAMICS),
    (START, DYNAMICS),
    (DECISION, START, DYNAMICS),
)
REST = "neither"  # name of the part without any of them


class Part(NamedTuple):
    """A part of a gap.

    Attributes:
        name: "decision", "start" or "dynamics"; their interactions, such as "decision x start";
            or "neither".
        mean: Mean over the episodes.
        low: Lower limit of its 95% interval; NaN with one episode.
        high: Upper limit.
    """

    name: str
    mean: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Decomposition:
    """A gap between two groups and its parts, which sum to it.

    Attributes:
        scenario: Name of the scenario.
        measure: Name of the fairness metric that compares the rate.
        groups: Names of the two groups; the gap is the rate of the first minus that of the second.
        gap: The gap, as a part named "gap".
        parts: Parts in the order of `PARTS`.
        episodes: Number of episodes in which all rates are defined.
    """

    scenario: str
    measure: str
    groups: tuple[str, str]
    gap: Part
    parts: tuple[Part, ...]
    episodes: int


def decompose(
    built: Built,
    measure: str,
    *,
    episodes: int = 32,
    seed: int = 0,
    pair: tuple[int, int] | None = None,
) -> Decomposition:
    """Divide a gap between two groups into decisions, starts, dynamics and interactions.

    With decisions d (own or blind), starts s and dynamics m (own or exchanged) the gap g(d, s, m)
    is the sum of eight terms. A term with the decision is the difference between own and blind
    decisions, one without it the value with blind ones; a term with the start (the dynamics) is
    half of the difference between own and exchanged, one without it their mean.

    Args:
        built: A scenario.
        measure: Name of a rate, or of the fairness metric that compares it.
        episodes: Number of episodes in each of six runs.
        seed: Seed of the episodes.
        pair: Indices of the two groups; by default those with the widest gap.

    Raises:
        FairgymError: If the environment has no people whose groups could be exchanged, or no such
            rate.
    """
    name = rate_metric(built.env, measure)
    require_exchangeable(built.env)
    key = jax.random.key(seed)
    if pair is None:
        pair = _widest(built, name, key, episodes)
    cases = [(seen, start) for seen in (OWN, BLIND, EXCHANGED) for start in (False, True)]
    rates = _run(built, key, episodes, pair, cases).rates[name].astype(np.float64)
    gaps = (rates[:, pair[0]] - rates[:, pair[1]]).reshape(len(cases), episodes)
    found = dict(zip(cases, gaps[:, np.isfinite(gaps).all(axis=0)], strict=True))
    whole, terms = found[OWN, False], parts_of(found)
    groups = built.env.spec.groups
    return Decomposition(
        built.name,
        name,
        (groups[pair[0]], groups[pair[1]]),
        Part("gap", *mean_interval(whole)),
        tuple(Part(" x ".join(part) or REST, *mean_interval(terms[part])) for part in PARTS),
        len(whole),
    )


def parts_of(found: Mapping[tuple[int, bool], np.ndarray]) -> dict[tuple[str, ...], np.ndarray]:
    """Return the parts of a gap in each episode, which sum to `found[OWN, False]`.

    Args:
        found: (what decisions see, whether starts are exchanged) -> the gap between the groups.
    """

    def gap(blind: bool, start: bool, dynamics: bool) -> np.ndarray:
        # exchanged dynamics: the groups trade names, and with them starts and decisions
        seen = BLIND if blind else EXCHANGED if dynamics else OWN
        return -found[seen, not start] if dynamics else found[seen, start]

    terms = {}
    for part in PARTS:
        total = np.zeros_like(found[OWN, False])
        for blind, start, dynamics in itertools.product((False, True), repeat=3):
            sign = 1.0
            if DECISION in part:
                sign *= -1.0 if blind else 1.0
            elif not blind:
                continue
            sign *= -1.0 if START in part and start else 1.0
            sign *= -1.0 if DYNAMICS in part and dynamics else 1.0
            total = total + sign * gap(blind, start, dynamics) / 4.0
        terms[part] = total
    return terms


def rate_metric(env: Environment, measure: str) -> str:
    """Return the name of the fairness metric that compares a rate.

    Args:
        env: The environment.
        measure: Name of the rate or of the metric.

    Raises:
        FairgymError: If there is none.
    """
    compared = {
        name: metric.rate
        for name, metric in env.metrics.items()
        if metric.kind == "fair" and isinstance(getattr(metric, "rate", None), Rate)
    }
    rates = {n: metric for n, metric in env.metrics.items() if metric in compared.values()}
    known = {slug(name): name for name in (*compared, *rates)}
    if slug(measure) not in known:
        if not known:
            raise FairgymError(f"{env.name} compares no rate between groups, got {measure!r}")
        raise unknown("measure to decompose", measure, known.values())
    name = known[slug(measure)]
    return name if name in compared else next(n for n, r in compared.items() if r == rates[name])


def _widest(built: Built, name: str, key: PRNGKeyArray, episodes: int) -> tuple[int, int]:
    """Return the two groups whose mean rates are furthest apart, in order."""
    if len(built.env.spec.groups) == 2:
        return 0, 1
    env, params = built.running
    found = evaluate(env, params, built.policies, key, episodes, ends=True)
    means = np.nanmean(found.rates[name].astype(np.float64), axis=0)
    first, second = sorted((int(np.nanargmin(means)), int(np.nanargmax(means))))
    return (first, second) if first < second else (0, 1)


def _run(
    built: Built,
    key: PRNGKeyArray,
    episodes: int,
    pair: tuple[int, int],
    cases: list[tuple[int, bool]],
) -> Evaluation:
    """Run the same episodes in each case, in one program."""
    env, params = built.running
    count = len(cases)
    many = jax.tree.map(
        lambda x: np.broadcast_to(np.asarray(x, np.float32), (count * episodes, *np.shape(x))),
        params,
    )
    seen, start = (np.repeat([case[side] for case in cases], episodes) for side in (0, 1))
    exchanged = ExchangedParams(inside=many, start=start, seen=seen.astype(np.int32))
    keys = jax.random.split(key, episodes)[np.tile(np.arange(episodes), count)]
    return evaluate_each(Exchanged(env, pair), exchanged, built.policies, keys)
