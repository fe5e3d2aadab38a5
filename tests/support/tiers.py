"""Cases of a parametrised test in two tiers."""

from collections.abc import Iterable
from typing import Any

import pytest


def in_tiers(cases: Iterable[Any], *first: Any) -> list[Any]:
    """The cases as parameters: those that are not among `first` are in `make test-all` only."""
    cases = list(cases)
    assert all(case in cases for case in first), "a case of the first tier is not among the cases"
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=() if case in first else pytest.mark.full,
        )
        for case in cases
    ]
