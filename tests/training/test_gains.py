"""Who gains and who loses, over time and in a grid: sums, and the same people on both sides."""

import jax
import numpy as np
import pytest
from pairs import Pairs  # registers itself
from two_servers import TwoServers

from fairgym.core import FairgymError
from fairgym.results.what_if_page import course_records, gain_records, grid_records
from fairgym.training import Scenario, evaluate, simulate
from fairgym.training.gains import gains
from fairgym.training.grids import grid
from fairgym.training.reforms import Factor
from fairgym.training.scenarios import build_all
from fairgym.utils import make

SIZE = {"population": 40, "horizon": 6}


@pytest.fixture(scope="module")
def relieved():
    return simulate(
        "loan_simple",
        [
            Scenario("today", environment_args=SIZE),
            Scenario("strict", {"admissions": 0.9}, environment_args=SIZE),
            Scenario("the same", environment_args=SIZE),
        ],
        episodes=3,
    )


def test_cells_sum_to_all_people_and_to_what_they_received(relieved):
    cells = gains(relieved, "strict")
    env = relieved.base.env
    assert len(cells) == 2 * 3 * (len(env.spec.stages) + 2)
    stages = [one for one in cells if one.stage in env.spec.stages]
    for side in ("before", "after"):
        assert sum(getattr(one, side) for one in stages) == pytest.approx(40)
    for group, name in enumerate(env.spec.groups):
        ends = relieved.evaluations["strict"].ends["people"][:, 1, group].mean()
        assert sum(one.after for one in stages if one.group == name) == pytest.approx(ends)
    more, less = (sum(c.after for c in cells if c.stage == which) for which in ("more", "less"))
    assert more == 0.0 < less < 40, "nobody gets a loan for which the threshold is higher"
    thirds = [
        sum(c.before for c in stages if c.score == s) for s in ("lowest", "middle", "highest")
    ]
    assert max(thirds) - min(thirds) < 2.0
    records = gain_records("strict", "today", cells)
    assert sum(r["difference"] for r in records if r["measure"] in env.spec.stages) == 0.0


def test_without_a_change_nobody_gains(relieved):
    for cell in gains(relieved, "the same"):
        assert cell.difference == cell.low == cell.high == 0.0
        assert cell.stage not in ("more", "less") or cell.after == 0.0


def test_who_gains_needs_people():
    found = simulate("two_servers", [Scenario("a"), Scenario("b")], episodes=4)
    assert found.base.env == TwoServers()
    with pytest.raises(FairgymError, match="two_servers has no people whose gains"):
        gains(found, "b")


def test_other_people_cannot_be_compared():
    scenarios = [Scenario("a"), Scenario("b", params={"spread": 2.0})]
    found = simulate("pairs", scenarios, episodes=2)
    with pytest.raises(FairgymError, match="'b' begins with other people"):
        gains(found, "b")


def test_courses_end_at_the_rates_and_sums_of_the_episode():
    env = make("pairs")
    built = build_all("pairs", [Scenario("even"), Scenario("later", {"giver": "1.0 from 2"})])
    sides = [
        evaluate(*one.running, one.policies, jax.random.key(0), 2, trace=True) for one in built
    ]
    found = course_records(env, "later", "even", sides[1], sides[0])
    scores = [r for r in found if r["measure"] == "score_gap" and r["part"] == "first"]
    assert [r["step"] for r in scores] == [1, 2, 3, 4]
    assert [r["difference"] for r in scores] == pytest.approx([0, 0, 0.5 / 3, 0.25], abs=1e-6)
    assert scores[-1]["mean"] == pytest.approx(sides[1].rates["score_gap"][:, 0].mean())
    worth = [r for r in found if r["measure"] == "worth"]
    assert worth[-1]["mean"] == pytest.approx(float(sides[1].metrics["worth"].mean()))
    assert worth[1]["difference"] == 0.0 < worth[2]["difference"] and worth[0]["part"] is None


def test_a_grid_has_a_cell_for_every_size_and_value():
    found = grid(
        "pairs",
        Scenario("give", {"giver": 1.0}),
        Scenario("even"),
        Factor("reward", 0.0, 2.0),
        cells=3,
        episodes=2,
    )
    assert found.sizes == (0.0, 0.5, 1.0) and found.values == (0.0, 1.0, 2.0)
    records = grid_records(Pairs(), "even", found)
    cells = {
        (r["size"], r["factor_value"]): r["difference"] for r in records if r["measure"] == "worth"
    }
    assert len(cells) == 9
    for (size, reward), difference in cells.items():  # a unit more, in four weeks
        assert difference == pytest.approx(4 * size * (reward - 1.0), abs=1e-5)


def test_rules_are_exchanged_as_a_whole():
    scenario = Scenario("turns", {"server": "random-present"})
    found = grid(
        "doughnut", scenario, Scenario("today"), Factor("presence", 0.5, 1.0), cells=3, episodes=2
    )
    assert found.sizes == (0.0, 1.0) and np.shape(found.evaluations[0].lengths) == (6,)
