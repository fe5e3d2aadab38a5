"""Maps of the columns of public data sets, on made-up files in their format."""

import numpy as np
import pytest

from fairgym.audit import Roles, read_decisions
from fairgym.audit.write import map_names, read_config

RACES = ["Black or African American", "White", "Race Not Available"]
# Name of a map -> the head of such a file, and a function of a random generator that makes a row.
FORMATS = {
    "hmda-lar": (
        "activity_year,lei,state_code,derived_loan_product_type,derived_ethnicity,derived_race,"
        "derived_sex,action_taken,loan_purpose,loan_amount,debt_to_income_ratio",
        lambda rng: [
            "2022",
            "5493001",
            "MA",
            "Conventional:First Lien",
            rng.choice(["Hispanic or Latino", "Not Hispanic or Latino"]),
            rng.choice(RACES),
            rng.choice(["Male", "Female", "Joint"]),
            rng.choice(list("1123456")),
            rng.choice(["1", "31"]),
            "255000.0",
            rng.choice(["20%-<30%", "36", "NA", "Exempt"]),
        ],
    ),
    "compas": (
        "id,name,compas_screening_date,sex,age_cat,race,decile_score,priors_count,c_charge_degree,"
        "score_text,priors_count,two_year_recid",
        lambda rng: [
            "1",
            '"O\'Neil, ""Jo"""',
            f"2013-{rng.integers(1, 13):02d}-14",
            rng.choice(["Male", "Female"]),
            rng.choice(["Less than 25", "25 - 45"]),
            rng.choice(["African-American", "Caucasian"]),
            "4",
            str(count := rng.integers(0, 15)),
            rng.choice(["F", "M"]),
            rng.choice(["Low", "Medium", "High"]),
            str(count),
            rng.choice(["0", "1"]),
        ],
    ),
    "open-policing": (
        "raw_row_number,date,time,subject_age,subject_race,subject_sex,type,search_conducted",
        lambda rng: [
            "1|2",
            f"2015-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}",
            "21:30:00",
            "NA",
            rng.choice(["black", "white", "hispanic", "NA"]),
            rng.choice(["male", "female"]),
            "vehicular",
            rng.choice(["TRUE", "FALSE", "FALSE", "NA"]),
        ],
    ),
    "lending-club": (
        "id,loan_amnt,term,int_rate,grade,home_ownership,issue_d,loan_status",
        lambda rng: [
            "68407277",
            "3600.0",
            " 36 months",
            "13.99",
            rng.choice(list("ABC")),
            rng.choice(["RENT", "MORTGAGE", "OWN"]),
            rng.choice(["Dec-2015", "Nov-2015", "Jan-2016"]),
            rng.choice(["Fully Paid", "Charged Off", "Current"]),
        ],
    ),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_in_the_format_is_read(name, tmp_path):
    rng = np.random.default_rng(0)
    head, row = FORMATS[name]
    lines = [head, *(",".join(map(str, row(rng))) for _ in range(300))]
    (tmp_path / "file.csv").write_text("\n".join(lines))
    roles = Roles(**read_config(name)[0])
    found = read_decisions(tmp_path / "file.csv", roles, absent_ok=True)
    assert 0 < found.favourable.sum() < found.rows <= 300
    assert list(found.groupings) == list(roles.groups) and found.periods is not None
    expected = {
        "hmda-lar": ("2022",),
        "compas": tuple(f"2013-{month:02d}" for month in range(1, 13)),
        "open-policing": tuple(f"2015-{month:02d}" for month in range(1, 13)),
        "lending-club": ("2015Q4", "2016Q1"),
    }
    assert found.periods.names == expected[name]
    assert bool(found.dropped) == (name != "compas")
    if name == "compas":
        assert isinstance(found.legit["priors_count"], np.ndarray)
        assert any("priors_count" in note for note in found.source.notes)
        assert found.outcome is not None and set(found.outcome) == {0.0, 1.0}
    if name == "lending-club":
        assert found.amount is not None and (found.amount == 3600.0).all()
    if name == "hmda-lar":
        assert "Race Not Available" not in found.groupings["derived_race"].names
    if name == "open-policing":
        assert (found.groupings["subject_race"].codes < 0).any()


def test_every_map_has_a_format_and_a_description():
    assert sorted(FORMATS) == map_names()
    for name in map_names():
        assert Roles(**read_config(name)[0]).decision
