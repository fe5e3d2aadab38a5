"""Exact references in the doughnut shop: the best policies, found by dynamic programming."""

import dataclasses
import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np

from fairgym.core import Components
from fairgym.fairness import Scheme
from fairgym.fairness.planning import best_score
from fairgym.fairness.tables import declared

Presence = tuple[bool, ...]
HANDED_OUT = "handed_out"


@dataclasses.dataclass(frozen=True)
class Shop:
    """The doughnut shop as a small system for `best_score`; a state says who is at the counter.

    Attributes:
        people: Number of people.
        horizon: Number of steps.
        presence: Probability that a person is at the counter in a step; one number or one each.
        stays: Steps after which each person never comes again; empty if everybody stays.
    """

    people: int
    horizon: int
    presence: float | tuple[float, ...]
    stays: tuple[int, ...] = ()

    def _arrivals(self, time: int) -> dict[Presence, float]:
        """Return the probability of each presence at a time."""
        return _arrivals(self, time)

    def start(self) -> dict[Presence, float]:
        """Return the probability of each presence in the first step."""
        return self._arrivals(0)

    def outcomes(
        self, state: Presence, time: int
    ) -> list[tuple[tuple[float, ...], dict[Presence, float]]]:
        """Return for each person the doughnuts that everybody gets, and who comes next."""
        after = self._arrivals(time + 1)
        return [
            (tuple(float(who == one and state[one]) for one in range(self.people)), after)
            for who in range(self.people)
        ]


@functools.cache
def _arrivals(shop: Shop, time: int) -> dict[Presence, float]:
    """Return the probability of each presence in a shop at a time."""
    chances = np.broadcast_to(np.asarray(shop.presence, np.float64), (shop.people,))
    there = np.asarray(shop.stays or (shop.horizon + 1,) * shop.people) > time
    found: dict[Presence, float] = {}
    for presence in itertools.product((False, True), repeat=shop.people):
        each = np.where(presence, chances * there, 1.0 - chances * there)
        if (chance := float(np.prod(each))) > 0.0:
            found[presence] = chance
    return found


def handed_out(amounts: jax.Array) -> Components:
    """Return components with the doughnuts of each person."""
    return declared((HANDED_OUT,), "person")(**{HANDED_OUT: jnp.asarray(amounts, jnp.float32)})


def best(shop: Shop, scheme: Scheme, *, foresight: bool = True) -> float:
    """Return the best expected score in a shop, or that of the best option in each step."""
    return best_score(shop, scheme, handed_out, foresight=foresight)


def optimum(people: int, horizon: int, chance: float) -> float:
    """Return the largest expected welfare of an episode: log-Nash, summed over steps without waste.

    Solved by dynamic programming over the doughnuts that each person has received and over who is
    present.

    Args:
        people: Number of people.
        horizon: Number of steps.
        chance: Probability that a person is at the counter in a step.
    """
    counts = np.arange(horizon + 2)
    got = np.meshgrid(*[counts] * people, indexing="ij")
    welfare = sum(np.log(one + 1.0) for one in got)
    value = np.zeros_like(welfare)
    for _ in range(horizon):
        gain = welfare + value
        given = []  # value of giving the doughnut to each person
        for person in range(people):
            # nobody receives more than one per step: the last entry is never reached
            following = np.take(gain, np.minimum(counts + 1, horizon + 1), axis=person)
            given.append(following)
        expected = np.zeros_like(value)
        for there in itertools.product((False, True), repeat=people):
            some = [one for one, is_there in zip(given, there, strict=True) if is_there]
            best = np.max(some, axis=0) if some else value
            expected += chance ** sum(there) * (1 - chance) ** (people - sum(there)) * best
        value = expected
    return float(value[(0,) * people])


def bound(people: int, horizon: int) -> float:
    """Return the welfare if everybody is always present: doughnuts in turns, none wasted."""
    total = 0.0
    for step in range(1, horizon + 1):
        each, more = divmod(step, people)
        total += more * math.log(each + 2) + (people - more) * math.log(each + 1)
    return total
