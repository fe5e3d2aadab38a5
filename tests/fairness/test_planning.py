"""Exact planning against enumeration of all histories, for schemes of every kind."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from fairgym.core import FairgymError
from fairgym.experiments.fairqcm._bounds import Shop, optimum
from fairgym.fairness import (
    Counter,
    EachTime,
    Full,
    Least,
    Mean,
    Nash,
    Rawlsian,
    RelaxedParity,
    Scheme,
    StakeholderFirst,
    When,
    planning,
)
from fairgym.fairness.planning import best_score
from fairgym.fairness.tables import declared

GIVEN = Full("given")
SCHEMES = {
    "sum": Scheme.bounded(GIVEN, Nash(), When("given")),
    "end": Scheme.long_term(GIVEN, Nash()),
    "periodic": Scheme.periodic(GIVEN, RelaxedParity(), 2),
    "every third": Scheme.bounded(GIVEN, Rawlsian(), EachTime("given", 3)),
    "least": Scheme.anytime(GIVEN, RelaxedParity(), Least()),
    "mean": Scheme.periodic(GIVEN, Nash(), 2, Mean()),
    "stakeholders": Scheme(GIVEN, StakeholderFirst(), Counter(1)),
    "past-discounted": Scheme.anytime(Full("given", discount=0.5), Rawlsian()),
}


def components(amounts):
    return declared(("given",), "person")(**{"given": amounts})


def enumerated(model, scheme, foresight=True):
    """The same by recursion over histories, each scored from its beginning."""

    def score(history):
        if not history:
            return 0.0
        trace = components(jnp.asarray(np.array(history, np.float32)))
        return float(scheme.of_trace(trace)[0])

    def value(state, history, time):
        if time == model.horizon:
            return score(history)
        ahead, gains = [], []
        for amounts, nexts in model.outcomes(state, time):
            longer = (*history, amounts)
            gains.append(score(longer) - score(history))
            ahead.append(sum(p * value(s, longer, time + 1) for s, p in nexts.items()))
        if foresight:
            return max(ahead)
        gains = np.round(gains, 4)
        return ahead[int(np.argmax(gains))]

    return sum(p * value(state, (), 0) for state, p in model.start().items())


@pytest.mark.full
@pytest.mark.parametrize("foresight", [True, False])
@pytest.mark.parametrize("name", SCHEMES)
def test_the_best_policy_of_any_scheme(name, foresight):
    """Two people in four steps, of whom one leaves after two."""
    model = Shop(2, 4, 0.6, stays=(2, 4))
    found = best_score(model, SCHEMES[name], components, foresight=foresight)
    assert found == pytest.approx(enumerated(model, SCHEMES[name], foresight), abs=2e-4)


@pytest.mark.parametrize(("people", "steps", "chance"), [(2, 6, 0.8), (3, 5, 0.3), (3, 4, 1.0)])
def test_the_published_welfare_has_the_optimum_of_the_shop(people, steps, chance):
    found = best_score(Shop(people, steps, chance), SCHEMES["sum"], components)
    assert found == pytest.approx(optimum(people, steps, chance), rel=1e-5)


def test_foresight_serves_those_who_leave_first():
    """Everybody is always there, but A leaves after four of twelve steps: A gets all of those."""
    model = Shop(3, 12, 1.0, stays=(4, 12, 12))
    scheme = Scheme.long_term(GIVEN, Nash())
    best = best_score(model, scheme, components)
    assert best == pytest.approx(3 * np.log(4 + 1), rel=1e-5)
    # step by step, the three take turns in the first four, and A has two of them
    myopic = best_score(model, scheme, components, foresight=False)
    assert myopic == pytest.approx(np.log(3) + 2 * np.log(5 + 1), rel=1e-5)
    assert best > myopic


def test_a_shop_is_the_environment():
    """Probabilities of who is there, and of what an option gives."""
    model = Shop(2, 3, (0.5, 0.8), stays=(2, 3))
    start = model.start()
    assert sum(start.values()) == pytest.approx(1.0) and start[True, True] == pytest.approx(0.4)
    options = model.outcomes((True, False), 0)
    assert [amounts for amounts, _ in options] == [(1.0, 0.0), (0.0, 0.0)]
    assert all(nexts == start for _, nexts in options)
    assert options[0][1].keys() == set(itertools.product((False, True), repeat=2))
    (_, nexts), _ = model.outcomes((True, True), 1)
    assert {there[0] for there in nexts} == {False}, "nobody comes after they left"


class Endless:
    """More histories than can be listed."""

    @property
    def horizon(self):
        return 60

    def start(self):
        return {0: 1.0}

    def outcomes(self, state, time):
        return [((float(2**time), 0.0), {0: 1.0}), ((0.0, 1.0), {0: 1.0})]


def test_systems_that_are_not_small_are_refused(monkeypatch):
    monkeypatch.setattr(planning, "MOST_TRANSITIONS", 100)
    with pytest.raises(FairgymError, match="at most 100 transitions, got more after 6 of 60"):
        best_score(Endless(), SCHEMES["sum"], components)
