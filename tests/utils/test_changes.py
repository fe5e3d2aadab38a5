import pytest

from fairgym.core import FairgymError
from fairgym.utils.changes import changed_number, did_you_mean, is_percentage, unknown


@pytest.mark.parametrize(
    ("given", "number"),
    [(0.2, 0.2), ("0.2", 0.2), ("20%", 0.2), ("=30%", 0.3), (" 7.5 %", 0.075), ("+20%", 0.6)],
)
def test_numbers_as_users_write_them(given, number):
    assert changed_number("relief", given, 0.5) == number


@pytest.mark.parametrize("given", ["%", "a%", "20%%", "", "==1", True, None])
def test_what_is_no_number(given):
    with pytest.raises(FairgymError, match=r"relief must be a number, or a change such.*got .*"):
        changed_number("relief", given, 0.5)


def test_a_relative_change_is_no_percentage():
    assert is_percentage("20%") and is_percentage("=20%")
    assert not is_percentage("+20%") and not is_percentage(0.2) and not is_percentage("0.2")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("lone", "; did you mean 'loan'?"),
        ("Loan", "; did you mean 'loan'?"),
        ("simple", "; did you mean 'loan_simple'?"),
        ("moon", ""),
        ("", ""),
        (3, ""),
    ],
)
def test_similar_names_are_suggested(name, hint):
    known = ["loan", "loan_simple", "health"]
    assert did_you_mean(name, known) == hint
    listed = hint or "; there are: loan, loan_simple, health"
    assert str(unknown("system", name, known, "there are")) == f"unknown system {name!r}{listed}"
