"""A report's conclusions in rival worlds: what turns around is told first."""

import dataclasses
from typing import Any

import pytest
from pairs import Pairs
from stand_ins import stand_in

from fairgym.report import rival_worlds
from fairgym.report.grouping import RunGroup
from fairgym.report.rival_worlds import EPISODES, in_rival_worlds
from fairgym.report.summary import in_short, setting
from fairgym.results.estimates import Result
from fairgym.training import Run, Scenario, simulate
from fairgym.training.reforms import Declared, World


@pytest.fixture
def called(monkeypatch):
    """The scenarios that are compared; they are run in the pairs, where the learner gives all."""
    seen: list[Any] = []

    def in_pairs(run, scenarios, **options):
        seen.append((run, scenarios, options["episodes"]))
        names = [one.name for one in scenarios]
        return simulate(
            "pairs", [Scenario(names[0]), Scenario(names[1], {"giver": 1.0})], **options
        )

    world = World("cheap", "a unit is worth nothing", {"reward": 0.0})
    monkeypatch.setattr(rival_worlds, "simulate", in_pairs)
    monkeypatch.setattr(rival_worlds, "declared_by", lambda env: Declared(worlds={"cheap": world}))
    monkeypatch.setattr(rival_worlds, "best", lambda rules: rules[0] if rules else None)
    return seen


RUN = stand_in(Run)
GROUP = stand_in(RunGroup, env=Pairs(), runs=(RUN,))


def named(*names):
    return [Result(name, False, ()) for name in names]


def test_the_learned_policy_is_compared_with_the_best_baseline(called):
    rules = [named("even (another place)", "uneven")]
    turned, notes = in_rival_worlds([GROUP], named("learned policy"), rules, 0)
    ((run, scenarios, episodes),) = called
    assert (run, episodes) == (RUN, EPISODES)
    assert [(one.name, one.baseline) for one in scenarios] == [
        ("even", "even"),
        ("learned policy", ""),
    ]
    assert turned == [
        "If a unit is worth nothing, “learned policy” has the opposite effect: worth (dollars)"
        " −4.00 [−4.00, −4.00] instead of +4.00 [+4.00, +4.00]."
    ]
    assert notes == [
        "In the rival world cheap: 1 clear effect changes its sign, for “learned policy” beside"
        f" “even” ({EPISODES} episodes)."
    ]


def test_without_a_baseline_or_a_world_nothing_is_run(called, monkeypatch):
    learned = named("learned policy")
    assert in_rival_worlds([GROUP], learned, [[]], 0) == ([], [])
    monkeypatch.setattr(rival_worlds, "declared_by", lambda env: Declared())
    assert in_rival_worlds([GROUP], learned, [named("even")], 0) == ([], [])
    assert called == []


@pytest.mark.full
def test_a_report_begins_with_what_turns_around(measured):
    told = dataclasses.replace(measured, turned=("It turns around.",), worlds=("In a world.",))
    assert in_short(told) == ["It turns around.", *in_short(measured)]
    assert setting(told) == [*setting(measured), "In a world."]
