"""Logs as components, against pandas; times of all kinds; bad tables are refused."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from fairgym.core import FairgymError
from fairgym.fairness import component_rows, periods

LOG = {"time": [0, 2, 2, 0], "group": ["B", "A", "A", "A"], "loans": [1, 1, 2, 1]}


def test_a_frame_is_pivoted():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "month": rng.integers(0, 12, 200),
            "region": rng.choice(["N", "S", "W"], 200),
            "loans": rng.integers(0, 3, 200),
            "amount": rng.normal(100, 10, 200),
        }
    )
    rows = component_rows(frame, ["loans", "amount"], time="month", stakeholder="region")
    for name in ("loans", "amount"):
        expected = frame.pivot_table(name, "month", "region", "sum", fill_value=0)
        np.testing.assert_allclose(getattr(rows, name), expected.to_numpy(), rtol=1e-6)
    assert {info.per for info in rows.info().values()} == {"region"}


def test_steps_and_stakeholders_without_rows_are_zeros():
    rows = component_rows(LOG, ["loans"], stakeholders=("C", "B", "A"), steps=4)
    assert rows.loans.tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 3], [0, 0, 0]]
    assert type(rows) is type(component_rows(LOG, ["loans"]))  # one compiled program for all


def test_years_are_numbered_and_keep_their_names():
    log = {"year": [2002, 1997, 1999, 1997], "group": list("ABAB"), "loans": [1, 2, 3, 4]}
    rows = component_rows(log, ["loans"], time="year")
    assert rows.loans.tolist() == [[0, 6], [3, 0], [1, 0]]
    found = periods(log, "year")
    assert found.names == ("1997", "1999", "2002") and found.of_row.tolist() == [2, 0, 1, 0]


ARREST, NOON = datetime.date(1998, 3, 1), datetime.datetime(1998, 3, 1, 12)
UTC = datetime.UTC
IN_PARIS = datetime.timezone(datetime.timedelta(hours=1))
TIMES = [
    ([3, -1, 3], ["-1", "3"]),  # steps before and after a reform
    ([1998.0, 1997.0], ["1997", "1998"]),
    (["10", "9", "10"], ["9", "10"]),
    (["1997-03", "1996-12"], ["1996-12", "1997-03"]),
    (["1997/3", "1997/12"], ["1997/3", "1997/12"]),
    (["1997Q3", "1997Q1", "1996Q4"], ["1996Q4", "1997Q1", "1997Q3"]),
    (["1997-W10", "1997-W9"], ["1997-W9", "1997-W10"]),
    (["wave 10", "Wave 9", " wave 10 "], ["Wave 9", "wave 10"]),
    (["1998-03-01", "1997-12-31"], ["1997-12-31", "1998-03-01"]),
    (["1998-3-1", "1998-03-01", "1998-2-1"], ["1998-2-1", "1998-3-1"]),  # one day, two spellings
    (["1998-03-01T12:00", "1998-03-01"], ["1998-03-01", "1998-03-01T12:00"]),
    (
        ["1998-03-01T12:00+01:00", "1998-03-01T11:30Z"],  # by their instants, not by their letters
        ["1998-03-01T12:00+01:00", "1998-03-01T11:30Z"],
    ),
    ([NOON, ARREST], ["1998-03-01", "1998-03-01T12:00:00"]),
    (
        [NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=IN_PARIS)],
        ["1998-03-01T12:00:00+01:00", "1998-03-01T12:00:00+00:00"],
    ),
    (np.array(["1998-03", "1997-05"], "datetime64[M]"), ["1997-05", "1998-03"]),
    (np.array(["1998-03-01", "1997-05-02"], "datetime64[ns]"), ["1997-05-02", "1998-03-01"]),
    (
        np.array(["1998-03-01T12:30", "1998-03-01"], "datetime64[ns]"),
        ["1998-03-01T00:00", "1998-03-01T12:30"],
    ),
    (pd.PeriodIndex(["1998-03", "1997-05"], freq="M"), ["1997-05", "1998-03"]),
    (pd.to_datetime(["1998-03-01", "1997-05-02"], utc=True), None),
]


@pytest.mark.parametrize(("times", "names"), TIMES)
def test_distinct_times_are_steps_in_their_order(times, names):
    found = periods({"time": times})
    names = names or ["1997-05-02T00:00:00+00:00", "1998-03-01T00:00:00+00:00"]
    assert list(found.names) == names
    log = {"time": times, "group": ["A"] * len(times), "one": [1] * len(times)}
    counted = component_rows(log, ["one"]).one[:, 0].tolist()
    assert counted == np.bincount(found.of_row).tolist() and min(counted) > 0


BAD_TIMES = [
    (["1/3/1998", "2/3/1998"], "'1/3/1998' in row 0$"),
    (["03.1998"], "'03.1998' in row 0$"),
    (["1998-02-30"], "'1998-02-30' in row 0$"),
    (["1998-13"], "'1998-13' in row 0$"),
    (["spring", "autumn"], "'spring' in row 0$"),
    (["Mar 1998", "Apr 1998"], "'Apr 1998' in row 1, after 'Mar 1998' in row 0$"),
    (["T-1", "T-2"], "'T-1' in row 0$"),  # which of them is first?
    (["1998-03", "1998-03-01"], "'1998-03-01' in row 1, after '1998-03' in row 0$"),
    ([NOON, NOON.replace(tzinfo=UTC)], "row 1, after .* in row 0$"),
    ([1, None], "None in row 1$"),
    ([1.0, float("nan")], "nan in row 1$"),
    ([True, False], "True in row 0$"),
    ([ARREST, pd.NaT], "NaT in row 1$"),
    (np.array(["1998-03", "NaT"], "datetime64[M]"), "'NaT' in row 1$"),
    (pd.array([2, None], dtype="Int64"), "(nan|<NA>) in row 1$"),
]


@pytest.mark.parametrize(("times", "message"), BAD_TIMES)
def test_what_is_no_time_is_named_by_its_first_row(times, message):
    expected = f"^the column 'time' must have times of one kind: .*; got {message}"
    if "row 1, after .*" in message:
        expected = message
    with pytest.raises(FairgymError, match=expected):
        periods({"time": times})


@pytest.mark.parametrize(
    "outcomes",
    [
        ["yes", "No", " YES ", "no"],
        ["TRUE", "false", "True", "False"],
        [True, False, True, False],
        ["1", "0", "1", "0"],
        np.array([True, False, True, False], object),
        pd.array([True, False, True, False], dtype="boolean"),
    ],
)
def test_yes_and_true_count_one(outcomes):
    rows = component_rows(LOG | {"released": outcomes}, ["released"])
    assert rows.released.tolist() == [[0, 1], [1, 0]]


class LikePolars:
    """What polars has of a table: names in `columns` and columns by name."""

    def __init__(self, table):
        self.columns, self.table = list(table), table

    def __getitem__(self, name):
        return pd.Series(self.table[name])  # has a length, and is an array for NumPy


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pa.table, LikePolars])
def test_data_frames_of_several_libraries_are_read_alike(frame):
    log = {
        "day": [ARREST, ARREST.replace(day=2), ARREST],
        "group": ["B", "A", "B"],
        "released": [True, False, True],
        "amount": [1.5, 2.0, 3.0],
    }
    rows = component_rows(frame(log), ["released", "amount"], time="day")
    assert rows.released.tolist() == [[0, 2], [0, 0]]
    assert rows.amount.tolist() == [[0, 4.5], [2, 0]]
    assert periods(frame(log), "day").names == ("1998-03-01", "1998-03-02")
    with pytest.raises(FairgymError, match="no column 'fees'; it has: day, group, released, am"):
        component_rows(frame(log), ["fees"], time="day")


BAD = [
    ([1, 2], ["loans"], {}, "columns by name, as a dictionary .* got a list"),
    (LOG | {"loans": ["yes", "no", "maybe", "no"]}, ["loans"], {}, "everywhere, got 'maybe'"),
    (LOG | {"loans": ["yes", "no", "1", "no"]}, ["loans"], {}, "everywhere, got '1' in row 2"),
    (LOG | {"loans": ["3", "1", "yes", "0"]}, ["loans"], {}, "or yes and no, got 'yes' in row 2"),
    (
        LOG | {"loans": np.array(["1998"] * 4, "datetime64[D]")},
        ["loans"],
        {},
        "'loans' must have numbers, or yes and no, got datetime.date.* in row 0",
    ),
    (LOG | {"time": [1997, 1998, 1998, 1999]}, ["loans"], {"steps": 9}, "0 to 8 .*, got 1997 in"),
    (
        LOG | {"time": ["1998-03"] * 4},
        ["loans"],
        {"steps": 9},
        "whole numbers from 0 to 8 because steps is given, got '1998-03' in row 0",
    ),
    (LOG, ["fees"], {}, "the table has no column 'fees'; it has: time, group, loans"),
    (LOG, "loans", {}, "columns must be a list .*, got 'loans'"),
    (LOG, ["two words"], {}, "columns must be names .*, got 'two words'"),
    (LOG | {"loans": [1, 2]}, ["loans"], {}, r"the 4 rows, got the shape \(2,\)"),
    (LOG | {"loans": [1, 2, "x", 3]}, ["loans"], {}, "must have numbers, or yes.*got 'x' in row 2"),
    (
        LOG | {"loans": [1, 2, 3, float("nan")]},
        ["loans"],
        {},
        "have numbers, .* got nan in row 3",
    ),
    (LOG | {"time": [0, 1.5, 2, 3]}, ["loans"], {}, "'time' must have times .* got 1.5 in row 1"),
    (LOG | {"time": [0, 1, -2, 3]}, ["loans"], {"steps": 4}, "from 0 to 3 .*, got -2 in row 2"),
    (LOG, ["loans"], {"steps": 2}, "'time' must have whole numbers from 0 to 1 .*, got 2 in row 1"),
    (LOG, ["loans"], {"stakeholders": ("A",)}, "'group' must have only A, got 'B' in row 0"),
    ({"time": [], "group": [], "loans": []}, ["loans"], {}, "the table must have one or more rows"),
    (LOG, ["loans"], {"steps": 0}, "steps must be a whole number from 1.*got 0"),
    (LOG, ["loans"], {"stakeholders": ("A", "B", "A")}, "stakeholders must not repeat, got"),
    (
        LOG | {"group": ["B", "A", None, "A"]},
        ["loans"],
        {},
        "got entries of several kinds",
    ),
]


@pytest.mark.parametrize(("table", "columns", "more", "message"), BAD)
def test_bad_tables_are_refused_in_a_sentence(table, columns, more, message):
    with pytest.raises(FairgymError, match=message):
        component_rows(table, columns, **more)
