"""Logs as components, against pandas; bad tables are refused."""

import numpy as np
import pandas as pd
import pytest

from fairgym.core import FairgymError
from fairgym.fairness import component_rows

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


BAD = [
    (LOG, ["fees"], {}, "the table has no column 'fees'; it has: time, group, loans"),
    (LOG, "loans", {}, "columns must be a list .*, got 'loans'"),
    (LOG, ["two words"], {}, "columns must be names .*, got 'two words'"),
    (LOG | {"loans": [1, 2]}, ["loans"], {}, r"the 4 rows, got the shape \(2,\)"),
    (LOG | {"loans": [1, 2, "x", 3]}, ["loans"], {}, "'loans' must have numbers, got 'x' in row 2"),
    (
        LOG | {"loans": [1, 2, 3, float("nan")]},
        ["loans"],
        {},
        "have numbers, got nan in row 3",
    ),
    (LOG | {"time": [0, 1.5, 2, 3]}, ["loans"], {}, "'time' must have whole .* got 1.5 in row 1"),
    (LOG | {"time": [0, 1, -2, 3]}, ["loans"], {}, "whole numbers from 0 .*, got -2 in row 2"),
    (LOG, ["loans"], {"steps": 2}, "'time' must have whole numbers from 0 to 1, got .* in row"),
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
