"""Every environment in a small size, as it is, with a memory, and in its further forms."""

from typing import Any

from sized import of_size

from fairgym.fairness import Full, Windowed
from fairgym.utils.registry import environments
from fairgym.wrappers import augmented

SHAPES = {"education": {"population": 200, "horizon": 6}}
# Declared memories by name; and custom memories, where an environment declares none.
DECLARED = {
    "attention": "window",
    "bank_loans": "window",
    "doughnut": "full",
    "epidemic": "window",
    "lending_pool": "min",
}
WINDOWED = {"education": "admission_disparity", "loan": "default_disparity"}
SUMMED = {"college_admissions": "admitted", "health": "insured", "loan_simple": "disbursed"}
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "loan of two banks": ("loan", {"banks": 2}),
    "loan with selective labels": ("loan", {"selective_labels": True}),
    "loan by race": ("loan", {"group_by": "race"}),
    "bank_loans with selective labels": ("bank_loans", {"selective_labels": True}),
}


def small(name):
    """An environment of few people and steps; "+" before a name adds a memory to it."""
    name, form = FORMS.get(name, (name, {}))
    plain = name.removeprefix("+")
    env = of_size(plain, **{"population": 60, "horizon": 6, **SHAPES.get(plain, {})}, **form)
    return env if plain == name else augmented(env, memory_of(env))


def memory_of(env):
    """A memory of an environment: a declared one if there is any."""
    if env.name in DECLARED:
        return DECLARED[env.name]
    if env.name in WINDOWED:
        return Windowed(env.metrics[WINDOWED[env.name]], 3)
    return Full(SUMMED[env.name])


OWN = [n for n in environments.names() if environments.get(n).__module__.startswith("fairgym.")]
SYSTEMS = [*OWN, *(f"+{name}" for name in OWN), *FORMS]

# The first tier takes one system for each kind of space but shares of a budget, and one memory;
# health, which has shares, in PettingZoo's own suite alone.
FIRST = ("attention", "bank_loans", "loan_simple", "+lending_pool")
