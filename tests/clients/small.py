"""fairgym's systems with few people and steps, for the scripts beside this file."""

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import fairgym
from fairgym.core import Environment

STEPS = 6
# one agent that chooses an option, and one that gives numbers
DISCRETE = ("bank_loans", "doughnut", "lending_pool")
CONTINUOUS = ("loan", "loan_simple", "attention")
# several agents, whose observations and actions differ in size
SEVERAL = ("loan", "loan_simple", "health")
PEOPLE = {"education": 200, "health": 60, "loan": 60, "loan_simple": 60}


def small(name: str) -> Environment:
    """Make an environment with few people and six steps."""
    shapes: dict[str, Any] = {"population": PEOPLE[name]} if name in PEOPLE else {}
    return fairgym.make(name, horizon=STEPS, **shapes)


def ran(runs: dict[str, list[str]], what: str, name: str) -> None:
    """Record that something was run on a system, and print it."""
    runs.setdefault(what, []).append(name)
    print(f"{what} on {name}", flush=True)


def report(client: str, package: str, runs: dict[str, list[str]], source: str = "") -> None:
    """Print the last line of a script: client, release, and what was run on which systems.

    Args:
        client: Name of the client.
        package: Name of its package.
        runs: Systems by what was run on them.
        source: What else was run than the package, such as programs of its repository.
    """
    together: dict[str, list[str]] = {}
    for what, systems in runs.items():
        together.setdefault(", ".join(systems), []).append(what)
    parts = "; ".join(f"{', '.join(whats)}: {systems}" for systems, whats in together.items())
    print(f"{client} | {version(package)}{source} | {parts}")


def repository() -> tuple[Path | None, str]:
    """Return the folder of the client's repository, None if it was not reached, and which it is."""
    folder = os.environ.get("CLIENT_SOURCE")
    if folder is None:
        return None, "; its repository was not reached"
    commit = (Path(folder) / "fetched").read_text(encoding="utf-8").strip()
    return Path(folder), f", repository at {commit[:7]}"
