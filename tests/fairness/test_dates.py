"""Dates as people write them."""

import datetime

import pytest
from decided import decisions_table

from fairgym.audit import Roles, read_decisions
from fairgym.core import FairgymError
from fairgym.fairness.dates import iso_dates, period_of

DAYS = [datetime.date(2023, 1, 2) + datetime.timedelta(days=19 * n) for n in range(40)]


@pytest.mark.parametrize(
    "form, order",
    [
        ("{d}.{m}.{y}", "day.month.year"),
        ("{d:02d}/{m:02d}/{y}", "day/month/year"),
        ("{m}/{d}/{y}", "month/day/year"),
        ("{m:02d}-{d:02d}-{y} 14:05", "month-day-year"),
        ("{y}-{m:02d}-{d:02d}", ""),
    ],
)
def test_the_order_is_that_of_the_whole_column(form, order):
    texts = [form.format(d=day.day, m=day.month, y=day.year) for day in DAYS]
    found, told = iso_dates(texts, "date")
    assert [text[:10] for text in found] == [day.isoformat() for day in DAYS]
    assert told == order
    assert all(text.endswith(" 14:05") for text in found) == ("14:05" in form)


def test_points_mean_the_day_first_and_other_texts_stay():
    assert iso_dates(["3.4.2023", "soon", "Dec-2018"], "date")[0] == [
        "2023-04-03",
        "soon",
        "2018-12",
    ]
    assert iso_dates(["45/60/2023", "1/2/23"], "date") == (["45/60/2023", "1/2/23"], "")


def test_what_cannot_be_told_is_one_sentence():
    with pytest.raises(FairgymError, match=r"'date' \(time\).* told apart.*got '3/4/2023'"):
        iso_dates(["3/4/2023", "5/5/2023"], "date")
    with pytest.raises(FairgymError, match=r"'date'.*got '13/4/2023' and '4/14/2023'"):
        iso_dates(["13/4/2023", "4/14/2023"], "date")


def test_an_audit_splits_them_into_periods_and_says_how():
    table = decisions_table(40) | {"when": [f"{day:%d/%m/%Y}" for day in DAYS]}
    roles = Roles(decision="ok", groups=("sex",), time="when", every="quarter")
    found = read_decisions(table, roles)
    assert found.periods is not None
    names = [found.periods.names[code] for code in found.periods.codes]
    assert names == [f"{day.year}Q{(day.month + 2) // 3}" for day in DAYS]
    assert found.source.notes == ("The dates of when were read as day/month/year.",)


def test_no_period_of_what_is_no_date():
    assert period_of("2023-02-30", "month") is None and period_of("2023", "month") is None
    assert period_of("2023", "year") == "2023" and period_of("2021-01-03", "week") == "2020-W53"
