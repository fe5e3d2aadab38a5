"""Built-in tables: what is known about them is found."""

import dataclasses

import numpy as np
import pytest

from fairgym.audit import Roles, audit, read_decisions
from fairgym.audit.examples import describe_examples, example_config, example_names, example_table
from fairgym.audit.gaps import gaps
from fairgym.audit.parts import number_of
from fairgym.audit.profiles import with_profile
from fairgym.audit.write import read_config
from fairgym.core import FairgymError
from fairgym.data import population, store


def roles_of(name):
    return Roles(**read_config(example_config(name))[0])


def gap_of(found, grouping):
    (row,) = (row for row in found.part("gaps").rows if row["grouping"] == grouping)
    return row


def test_every_example_is_described_and_its_file_is_the_recorded_one():
    assert example_names() == ["admissions", "arrests", "hmda", "resume-names"]
    for one in describe_examples():
        assert one["title"] and one["about"]
        assert store.read_verified(population.FILES, example_table(one["name"]).name)[0]
    assert read_decisions("example:hmda", roles_of("hmda")).source.path == "example:hmda"
    with pytest.raises(FairgymError, match="unknown example 'arests'; did you mean 'arrests'"):
        example_table("arests")


def test_admissions_favour_men_before_departments_are_looked_at():
    """Bickel, Hammel and O'Connell 1975: 44.5% of 2,691 men, 30.4% of 1,835 women."""
    found = audit("example:admissions", roles_of("admissions"))
    row = gap_of(found, "gender")
    assert found.decisions.rows == 4526 and row["n"] == 1835
    assert row["rate"] == pytest.approx(557 / 1835) and row["reference"] == "male"
    assert row["difference"] == pytest.approx(557 / 1835 - 1198 / 2691)
    assert number_of(row, "difference_high") < -0.1
    assert list(found.decisions.legit) == ["department"]


def test_resumes_with_black_names_get_fewer_calls():
    """Bertrand and Mullainathan 2004: 9.65% and 6.45% of 2,435 each."""
    found = audit(example_table("resume-names"), roles_of("resume-names"))
    row = gap_of(found, "ethnicity")
    assert row["n"] == 2435 and row["rate"] == pytest.approx(0.0645, abs=5e-5)
    assert row["reference_rate"] == pytest.approx(0.0965, abs=5e-5)
    assert row["difference"] == pytest.approx(-0.032, abs=5e-5)
    assert number_of(row, "difference_high") < 0.0


def test_black_applicants_in_boston_were_denied_more_often():
    """Stock and Watson: 28.3% of black applicants and 9.3% of others were denied."""
    found = audit(example_table("hmda"), roles_of("hmda"))
    row = gap_of(found, "race")
    assert found.decisions.rows == 2380 and row["n"] == 339
    assert 1.0 - number_of(row, "rate") == pytest.approx(0.283, abs=5e-4)
    assert 1.0 - number_of(row, "reference_rate") == pytest.approx(0.093, abs=5e-4)


def test_arrests_have_years_and_their_release_ratios():
    roles = with_profile(roles_of("arrests"))
    decisions = read_decisions(example_table("arrests"), roles)
    assert decisions.rows == 5226
    assert decisions.periods is not None
    assert decisions.periods.names == tuple(map(str, range(1997, 2003)))
    for year, ratio in (("1998", 0.77), ("2002", 0.98)):
        own = decisions.kept(decisions.periods.codes == decisions.periods.names.index(year))
        part = next(part for part in gaps(own, dataclasses.replace(roles)) if part.name == "gaps")
        (row,) = (row for row in part.rows if row["grouping"] == "colour")
        assert row["reference"] == "White" and row["ratio"] == pytest.approx(ratio, abs=0.005)
        released = own.favourable[own.groupings["colour"].codes == 0]
        assert row["rate"] == pytest.approx(np.mean(released))
