"""Exact bounds of the doughnut shop's welfare."""

import itertools
import math

import numpy as np


def optimum(people: int, horizon: int, chance: float) -> float:
    """Largest expected welfare of an episode: log-Nash, summed over the steps without waste.

    A dynamic programme over the doughnuts that each person has got, and over who is there.

    Args:
        people: Number of people.
        horizon: Number of steps.
        chance: Chance that a person is at the counter in a step.
    """
    counts = np.arange(horizon + 2)
    got = np.meshgrid(*[counts] * people, indexing="ij")
    welfare = sum(np.log(one + 1.0) for one in got)
    value = np.zeros_like(welfare)
    for _ in range(horizon):
        gain = welfare + value
        given = []  # what it is worth to give the doughnut to each person
        for person in range(people):
            # nobody gets more than one in each step: the last entry is never reached
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
    """Welfare of an episode in which everybody is always there: doughnuts in turns, none wasted."""
    total = 0.0
    for step in range(1, horizon + 1):
        each, more = divmod(step, people)
        total += more * math.log(each + 2) + (people - more) * math.log(each + 1)
    return total
