"""Every environment in a small size, as it is, with a memory, and in its further forms."""

from typing import Any

from fairgym.core.registry import environments
from fairgym.testing.sized import of_size

SHAPES = {"education": {"population": 200, "horizon": 6}}
MEMORIES = {"doughnut": "full", "lending_pool": "min", "epidemic": "window"}
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "loan of two banks": ("loan", {"banks": 2}),
    "loan with selective labels": ("loan", {"selective_labels": True}),
    "loan by race": ("loan", {"group_by": "race"}),
    "bank_loans with selective labels": ("bank_loans", {"selective_labels": True}),
}


def small(name):
    """An environment of few people and steps; "+" before a name adds a memory to it."""
    name, form = FORMS.get(name, (name, {}))
    name, memory = name.removeprefix("+"), MEMORIES[name[1:]] if name[0] == "+" else ""
    shapes = {"population": 60, "horizon": 6, **SHAPES.get(name, {})}
    return of_size(name, **shapes, memory=memory, **form)


OWN = [n for n in environments.names() if environments.get(n).__module__.startswith("fairgym.")]
SYSTEMS = [*OWN, *(f"+{name}" for name in MEMORIES), *FORMS]
