"""Labels come from what environments, metrics and elements declare."""

import dataclasses
from collections.abc import Callable
from functools import cached_property
from typing import Any

import pytest

from fairgym.config.differences import small
from fairgym.core import Components, Element, FairgymError, Shares, component
from fairgym.fairness import Direct, Disparity, Rate
from fairgym.results import labels
from fairgym.results.labels import those
from fairgym.wrappers import EndsAfter


class Counted(Components):
    """Components of several units."""

    ill: Any = component("people ill", unit="people")
    seen: Any = component("people seen", unit="people")
    waited: Any = component("time waited", unit="people x months")
    balance: Any = component("money left", unit="dollars", nonnegative=False)


INFO = Counted.info()


@pytest.fixture
def system(country) -> Callable[..., Any]:
    """(name of a metric=metric, ...) -> an environment with these metrics."""

    def make(**given: Any) -> Any:
        class System(type(country)):
            @cached_property
            def spec(self) -> Any:
                return dataclasses.replace(super().spec, metrics=given, components=Counted)

        return System()

    return make


@pytest.fixture
def label(system) -> Callable[[Any], labels.MetricLabel]:
    """metric -> its label, under the name "some_rate"."""
    return lambda metric: labels.metric_label(system(some_rate=metric), "some_rate")


def test_a_metric_is_called_what_it_declares(label):
    assert label(Rate("ill", "seen")).title == "Some rate"
    assert label(Rate("ill", "seen", title="Share of ill people")).title == "Share of ill people"
    assert label(Rate("ill", "seen")).unit == "share"
    assert label(Rate("waited", "seen", unit="months")).unit == "months"
    assert label(Direct("balance")).unit == "dollars"
    with pytest.raises(FairgymError, match="must declare a unit"):
        label(Rate("waited", "seen"))


def test_what_cannot_be_negative_has_a_lower_limit(label):
    assert label(Rate("ill", "seen")).limits == (0.0, 1.0)
    assert label(Rate("balance", "seen", unit="dollars per person")).limits[0] < 0
    assert label(Disparity(Rate("balance", "seen", unit="dollars per person"))).limits[0] == 0
    assert label(Direct("balance")).limits[0] < 0


def test_the_rate_of_a_disparity_goes_by_its_title_or_by_its_metric(system):
    ill, wait = Rate("ill", "seen", sign=-1), Rate("waited", "seen", title="Wait", unit="months")
    env = system(
        illness_rate=ill,
        illness_disparity=Disparity(ill),
        wait_disparity=Disparity(wait),
        other_disparity=Disparity(Rate("seen", "ill")),
    )
    titles = [labels.rate_title(env, name) for name in list(env.metrics)[1:]]
    assert titles == ["Illness rate", "Wait", "Seen per ill"]


def test_parts_go_by_the_word_that_is_declared_for_them(country):
    assert labels.parts_word(country, country.spec.groups) == "region"
    assert labels.parts_word(country, ["town", "village", "desert"]) == "place"
    assert labels.parts_word(country, ["town", "village"]) == ""


def test_the_core_attribute_has_the_unit_of_its_feature(country):
    assert labels.core_attribute_unit(country) == "1 good to 5 bad"

    @dataclasses.dataclass(frozen=True)
    class Other(type(country)):
        @cached_property
        def spec(self) -> Any:  # nobody observes the core attribute
            return dataclasses.replace(super().spec, core_attribute="height")

    assert labels.core_attribute_unit(Other()) == ""


def test_shares_are_called_what_they_declare():
    space = Shares(
        (
            ("beds", Element("gpa_aid", label="help with gpa")),
            (Element("beds_north", of="beds", group="north"), Element("elsewhere", of="beds")),
        )
    )
    budget, split = space.blocks
    assert [labels.row_label(element) for element in budget] == ["beds", "help with GPA"]
    assert [labels.row_label(element) for element in split] == ["north", "elsewhere"]
    assert labels.whole(space, split) == "beds"


def test_a_wrapped_system_of_people_has_people(country):
    assert labels.has_people(EndsAfter(country, 3))


@pytest.mark.parametrize(
    ("group", "within"),
    [
        ("advantaged", "the advantaged"),
        ("first_half", "the first half"),
        ("South", "the South"),
        ("site_0", "site 0"),
        ("A", "group A"),
        ("white", "white people"),
        ("Black_women", "Black women"),
    ],
)
def test_groups_within_a_sentence(group, within):
    assert those(group) == within


def test_titles_within_a_sentence_begin_small_unless_they_are_letters():
    assert small("True positive rate") == "true positive rate"
    assert small("GPA at the end") == "GPA at the end" and small("") == ""
