"""Objectives as plain data: read, written, refused."""

import dataclasses
import json
from typing import Any

import jax.numpy as jnp
import pytest

import fairgym
from fairgym.config.plain import (
    complete_objective,
    metric_types,
    objective_text,
    parse_objective,
    plain_objective,
    read_metrics,
    read_objective,
)
from fairgym.core import FairgymError
from fairgym.fairness import (
    Atkinson,
    Direct,
    Disparity,
    EqualisedOdds,
    Gini,
    GroupRatio,
    LargestDeviation,
    LargestGap,
    Objective,
    Rate,
    Theil,
    WorstGroup,
    metric_classes,
)
from fairgym.fairness.metrics import Kind

ENV = fairgym.make("loan_simple", population=100, horizon=10)
ACCESS = Rate("disbursed", "applied")
DATA = {"numerator": "disbursed", "denominator": "applied"}


def read(given):
    return read_objective(ENV, given, read_metrics(ENV, [given]))


def further(data, weights=None):
    return {"weights": weights or {"profit": 1}, "metrics": {"mine": data}}


class TestReading:
    def test_weights_over_the_environments_metrics(self):
        assert read({"profit": 1, "wait_disparity": 2}) == Objective.weighted(
            ENV, {"profit": 1.0, "wait_disparity": 2.0}
        )

    def test_names_are_what_they_were(self):
        for name in ("uniform", "direct-fair", "frontier:0.3"):
            assert read(name) == Objective.named(ENV, name)
            assert complete_objective(ENV, name) == name

    def test_the_order_of_the_keys_does_not_matter(self):
        """The order of the weights is fixed, since float sums depend on it."""
        back = read({"wait_disparity": 2, "profit": 1})
        assert list(back.weights) == ["profit", "wait_disparity"]
        two = {"b": {"type": "Gini", "rate": DATA}, "a": {"type": "Gini", "rate": DATA}}
        assert list(read_metrics(ENV, [{"weights": {"a": 1}, "metrics": two}])) == ["a", "b"]

    @pytest.mark.parametrize(
        ("data", "metric"),
        [
            ({"type": "Direct", "component": "applied"}, Direct("applied")),
            (
                {"type": "Direct", "component": "applied", "normaliser": 7, "sign": -1},
                Direct("applied", 7.0, -1),
            ),
            ({"type": "Rate", **DATA}, ACCESS),
            ({"type": "Rate", **DATA, "sign": -1}, Rate("disbursed", "applied", sign=-1)),
            ({"type": "Disparity", "rate": DATA}, Disparity(ACCESS)),
            (
                {"type": "Disparity", "rate": DATA, "normalise_by_sum": True},
                Disparity(ACCESS, normalise_by_sum=True),
            ),
            ({"type": "WorstGroup", "rate": DATA}, WorstGroup(ACCESS)),
            (
                {"type": "WorstGroup", "rate": "default_rate"},
                WorstGroup(Rate("defaulted", "ended", sign=-1)),
            ),
            ({"type": "GroupRatio", "rate": DATA}, GroupRatio(ACCESS)),
            ({"type": "Gini", "rate": {**DATA, "title": "Access"}}, Gini(ACCESS)),
            ({"type": "LargestGap", "rate": DATA}, LargestGap(ACCESS)),
            ({"type": "Theil", "rate": DATA}, Theil(ACCESS)),
            ({"type": "Atkinson", "rate": DATA, "epsilon": 2}, Atkinson(ACCESS, 2.0)),
            (
                {
                    "type": "EqualisedOdds",
                    "true_positive": DATA,
                    "false_positive": "default_rate",
                    "agg": "mean",
                },
                EqualisedOdds(ACCESS, Rate("defaulted", "ended", sign=-1), "mean"),
            ),
            ({"type": "Rate", **DATA, "offset": 1}, Rate("disbursed", "applied", offset=1.0)),
            ({"type": "LargestDeviation", "component": "applied"}, LargestDeviation("applied")),
            (
                {"type": "LargestDeviation", "component": "applied", "relative_to": "none"},
                LargestDeviation("applied", "none"),
            ),
        ],
    )
    def test_further_metrics(self, data, metric):
        objective = read(further(data, {"profit": 1, "mine": 0.5}))
        assert list(objective.metrics) == [*ENV.metrics, "mine"]
        assert objective.metrics["mine"] == metric
        assert objective.weights == {"profit": 1.0, "mine": 0.5}
        written = json.loads(json.dumps(plain_objective(ENV, objective)))
        assert read(written) == objective
        assert plain_objective(ENV, read(written)) == written

    def test_titles_and_units_are_kept(self):
        rate = {"type": "Rate", "numerator": "waited", "denominator": "disbursed"}
        data = further({**rate, "unit": "months", "title": "Time in line"})
        metric = read(plain_objective(ENV, read(data))).metrics["mine"]
        assert (metric.title, getattr(metric, "unit", "")) == ("Time in line", "months")


LONG = "x" * 5000


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "objective must be a name, or weights.*, got {} without a weight"),
        ({"weights": {}}, "without a weight"),
        ({"metrics": {"mine": {"type": "Rate", **DATA}}}, "must be a name, or weights"),
        ({"profits": 1}, "unknown metric 'profits' in the objective .*; did you mean 'profit'"),
        ({1: 1}, "unknown metric 1 in the objective for loan_simple; there are: profit"),
        ({LONG: 1}, "unknown metric"),
        ({"insured_rate": 1}, "unknown metric 'insured_rate' in the objective for loan_simple"),
        ({"profit": "1"}, "weight of 'profit' must be a number.*got '1'"),
        ({"profit": LONG}, "weight of 'profit' must be a number, got 'xxx"),
        ({"profit": True}, "weight of 'profit' must be a number.*got True"),
        ({"profit": None}, "weight of 'profit' must be a number.*got None"),
        ({"profit": [1]}, "must be a number"),
        ({"profit": float("nan")}, "must be a number"),
        ({"profit": float("inf")}, "must be a number"),
        ({"profit": 10**400}, "must be a number"),
        ({"weights": {"profit": 1}, "metrics": {}, "profit": 1}, "unknown key 'profit'"),
        ({"weights": {"mine": 1}}, "unknown metric 'mine'"),
        ({"weights": {"profit": 1}, "metrics": 3}, "must be a name, or weights"),
        (further(3), "metric 'mine' must have a type .*, got 3"),
        (
            further({}),
            "type of the metric 'mine' must be one of Atkinson, Direct, Disparity.*got None",
        ),
        (further({"type": "Thiel"}), "type of the metric 'mine' must be one of .*, got 'Thiel'"),
        (further({"type": ["Gini"]}), "type of the metric 'mine' must be one of .*, got .'Gini'."),
        (further({"type": "Gini"}), "'mine' is not complete; Gini takes: rate, and optional"),
        (further({"type": "Rate", **DATA, "x": 1}), "unknown key 'x'; Rate takes: numerator"),
        (further({"type": "Rate", **DATA, LONG: 1}), "unknown key 'xxx"),
        (
            further({"type": "Direct", "component": "loans"}),
            "component of the metric 'mine' must be a component .profit, applied.*, got 'loans'",
        ),
        (further({"type": "Direct", "component": 3}), "must be a component .profit, .*, got 3"),
        (
            further({"type": "Direct", "component": "profit", "sign": 0}),
            "sign of the metric 'mine' must be 1 or -1, got 0",
        ),
        (
            further({"type": "Direct", "component": "profit", "normaliser": 0}),
            "normaliser of .* must be a number above 0.*got 0",
        ),
        (
            further({"type": "Disparity", "rate": DATA, "normalise_by_sum": 1}),
            "normalise_by_sum of .* must be true or false, got 1",
        ),
        (
            further({"type": "Rate", **DATA, "title": LONG}),
            "must be a text of at most 200 letters, got 'xxx",
        ),
        (
            further({"type": "Rate", **DATA, "offset": -1}),
            "'mine': offset must be a number from 0, got -1.0",
        ),
        (
            further({"type": "LargestDeviation", "component": "profit"}),
            "'mine': component must have an entry per place .*, got 'profit'",
        ),
        (
            further({"type": "LargestDeviation", "component": "applied", "relative_to": "x"}),
            "'mine': relative_to must be one of sum, largest, none, got 'x'",
        ),
        (
            further({"type": "Distance", "component": "applied"}),
            "must have an entry per group and bin .none has., got",
        ),
        (
            further({"type": "Gini", "rate": "profit"}),
            "or one of admission_rate, default_rate, got",
        ),
        (further({"type": "Gini", "rate": 3}), "rate of the metric 'mine' must be a num.*, got 3"),
        (
            further({"type": "Gini", "rate": {**DATA, "numerator": "x"}}),
            "numerator of the rate of the metric 'mine' must be .*, got 'x'",
        ),
        (
            further({"type": "Rate", "numerator": "waited", "denominator": "disbursed"}),
            "'mine': the rate of 'waited' .* must declare a unit",
        ),
        (
            further(
                {
                    "type": "Gini",
                    "rate": {"numerator": "profit", "denominator": "applied", "unit": "dollars"},
                }
            ),
            "compares groups, but 'profit' is one number for all",
        ),
        (
            further({"type": "Atkinson", "rate": DATA, "epsilon": 0}),
            "the metric 'mine': epsilon must be a number above 0",
        ),
        (
            further({"type": "EqualisedOdds", "true_positive": DATA}),
            "'mine' is not complete; EqualisedOdds takes: true_positive, false_positive, and",
        ),
        (
            further(
                {
                    "type": "EqualisedOdds",
                    "true_positive": DATA,
                    "false_positive": {
                        "numerator": "profit",
                        "denominator": "applied",
                        "unit": "dollars",
                    },
                }
            ),
            "compares groups, but 'profit' is one number for all",
        ),
        (
            {"weights": {"profit": 1}, "metrics": {"profit": {"type": "Rate", **DATA}}},
            "metric 'profit' exists already",
        ),
        (
            {"weights": {"profit": 1}, "metrics": {"survived": {"type": "Rate", **DATA}}},
            "metric 'survived' exists already",
        ),
        (
            {"weights": {"profit": 1}, "metrics": {"a/b": {"type": "Rate", **DATA}}},
            "the name of a metric must be lower-case .*, got 'a/b'",
        ),
        (
            {"weights": {"profit": 1}, "metrics": {LONG: {"type": "Rate", **DATA}}},
            "the name of a metric must be lower-case .*, got 'xxx",
        ),
    ],
)
def test_refused_in_one_bounded_sentence(given, message):
    with pytest.raises(FairgymError, match=message) as caught:
        read(given)
    assert len(str(caught.value)) < 500 and "\n" not in str(caught.value)


@dataclasses.dataclass(frozen=True)
class LongestWait:
    """A custom class with fields of several types."""

    waits: Rate
    cap: float
    of: str = "people"
    strict: bool = False
    kind: Kind = dataclasses.field(default="fair", init=False)
    sign: int = dataclasses.field(default=-1, init=False)
    title: str = dataclasses.field(default="longest wait", init=False)

    def __post_init__(self):
        if self.cap > 99:
            raise FairgymError(f"cap must be 99 at most, got {self.cap}")

    def unit_in(self, info):
        return "months"

    def value(self, totals):
        return -jnp.minimum(jnp.max(self.waits.per_group(totals)), self.cap)

    def normalised(self, totals):
        return self.value(totals) / self.cap

    def defined(self, totals):
        return self.waits.defined(totals)


WAITS = {"numerator": "waited", "denominator": "disbursed", "unit": "months"}


@pytest.fixture
def longest_wait(own_metric_classes):
    return own_metric_classes.register("LongestWait")(LongestWait)


@pytest.mark.usefixtures("longest_wait")
class TestOwnClasses:
    def test_written_and_read_back(self):
        metric = LongestWait(Rate("waited", "disbursed", unit="months"), 12.0)
        objective = Objective({**ENV.metrics, "mine": metric}, {"profit": 1.0, "mine": 2.0})
        plain = json.loads(json.dumps(plain_objective(ENV, objective)))
        assert plain["metrics"]["mine"]["type"] == "LongestWait"
        assert read(plain) == objective
        assert metric_types([plain, "uniform", {"profit": 1}]) == ["LongestWait"]

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            ({}, "'mine' is not complete; LongestWait takes: waits, cap, and optionally of"),
            ({"waits": 3, "cap": 1}, "waits of the metric 'mine' must be a numerator and.*got 3"),
            ({"waits": WAITS, "cap": "x"}, "cap of the metric 'mine' must be a number.*got 'x'"),
            ({"waits": WAITS, "cap": 100}, "the metric 'mine': cap must be 99 at most, got 100.0"),
            (
                {"waits": WAITS, "cap": 1, "of": LONG},
                "must be a text of at most 200 letters, got 'xxx",
            ),
            ({"waits": WAITS, "cap": 1, "strict": 1}, "strict of .* must be true or false, got 1"),
        ],
    )
    def test_refused(self, data, message):
        with pytest.raises(FairgymError, match=message) as caught:
            read(further({"type": "LongestWait", **data}))
        assert len(str(caught.value)) < 500

    def test_only_a_dataclass_with_all_members_is_one(self):
        @metric_classes.register("Half")
        @dataclasses.dataclass(frozen=True)
        class Half:  # pyright: ignore[reportUnusedClass]
            kind = "rate"

        with pytest.raises(
            FairgymError, match=r"'Half' must be a dataclass, got .*Half', which has no sign, title"
        ):
            read(further({"type": "Half"}))
        with pytest.raises(FairgymError, match="'Rate' is that of a built-in class of metric"):
            metric_classes.register("Rate")(Half)


def test_fairgyms_own_classes_are_registered_alike():
    assert metric_classes.names() == sorted(
        "Direct Rate Disparity LargestGap EqualisedOdds WorstGroup GroupRatio Gini Theil Atkinson"
        " Distance LargestDeviation".split()
    )
    assert metric_classes.module_of("Gini") is None


class Own(Rate):
    """A class that is not registered."""


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        (Objective.uniform(ENV).bounded(0.1), "bounds of .*; give them as bounds of the run"),
        (
            Objective({**ENV.metrics, "own": Own("disbursed", "applied")}, {"own": 1}),
            "'own' is of the class Own, which .* cannot hold; use a class in",
        ),
        (
            Objective({**ENV.metrics, "gap": Disparity(Own("disbursed", "applied"))}, {"gap": 1}),
            "rate of the metric 'gap' is .*, which a configuration cannot hold",
        ),
        (Objective({"profit": ACCESS}, {"profit": 1}), "'profit' differs from that of loan"),
    ],
)
def test_objectives_that_cannot_be_written(objective, message):
    with pytest.raises(FairgymError, match=message):
        plain_objective(ENV, objective)


@pytest.mark.parametrize("field", ["weights", "bounds"])
def test_a_number_that_no_float_holds_is_refused(field):
    parts: dict[str, Any] = {"weights": {}, "bounds": {}} | {field: {"wait_disparity": 10**400}}
    with pytest.raises(FairgymError, match=rf"{field} of .* must be a number, got 1000") as e:
        Objective(ENV.metrics, **parts)
    assert len(str(e.value)) < 120


class TestText:
    @pytest.mark.parametrize(
        "given", ["uniform", "frontier:0.5", {"profit": 1.0, "wait_disparity": 0.1, "x": -2e-9}]
    )
    def test_it_is_read_as_it_is_written(self, given):
        assert parse_objective(objective_text(given)) == given

    def test_whole_numbers_look_whole(self):
        assert objective_text({"profit": 1.0, "wait_disparity": 2}) == "profit=1,wait_disparity=2"

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("profit=", "part of objective must be METRIC=NUMBER, got 'profit='"),
            ("profit=1,", "must be METRIC=NUMBER, got ''"),
            ("=1", "must be METRIC=NUMBER, got '=1'"),
            ("profit=1,wait", "must be METRIC=NUMBER, got 'wait'"),
            ("profit=nan", "must be METRIC=NUMBER, got 'profit=nan'"),
            ("profit=1=2", "must be METRIC=NUMBER, got 'profit=1=2'"),
            ("profit=1,profit=2", "must weigh each metric once, got 'profit' twice"),
        ],
    )
    def test_parts_that_are_no_weights(self, text, message):
        with pytest.raises(FairgymError, match=message):
            parse_objective(text)
