"""Settings that equal tuning chose for the learners of figures 2 to 5, as committed data."""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("tuned.json")


@functools.cache
def _content() -> dict[str, Any]:
    if not FILE.is_file():
        return {"choices": {}}
    return json.loads(FILE.read_text(encoding="utf-8"))


def choices(figure: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the hyperparameters chosen for the learners of a figure, by label; none if untuned."""
    return _content()["choices"].get(figure, {})


def words() -> str:
    """Return a sentence about equal tuning."""
    made = _content()
    return (
        f"With equal tuning, every learner has the best of {made['tried']} settings, chosen by the"
        f" mean of the learning curve on {len(made['seeds'])} other seeds, in the environment of"
        " the better settings (`fairgym reproduce fairqcm-tuning`)."
    )
