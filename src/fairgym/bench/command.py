"""The table of measurements, and opponents to compare with."""

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

import jax

from fairgym.bench.measuring import Measurement, Opponent, make_sized, measure
from fairgym.core import (
    FairgymError,
    PopulationEnvironment,
)
from fairgym.core.errors import check_shape
from fairgym.utils.plugins import running
from fairgym.utils.registry import environments as registry

POPULATIONS = (1_000, 10_000, 100_000)
BATCHES = (1, 100)
OPPONENTS = ("numba", "numpy")  # in the repository's folder `benchmarks`


def main_bench(
    environments: Sequence[str],
    *,
    populations: Sequence[int] = POPULATIONS,
    batches: Sequence[int] = BATCHES,
    repetitions: int = 5,
    opponent: Opponent | None = None,
) -> list[Measurement]:
    """Measure environments and print a table.

    Args:
        environments: Names, as `fairgym.make` takes them.
        populations: Population sizes. An environment without people, or with a fixed number of
            them, is measured once.
        batches: Numbers of episodes that run in parallel.
        repetitions: Number of measurements, of which the median is reported.
        opponent: Another implementation to compare with.

    Raises:
        FairgymError: An environment is unknown, or a number is out of range.
    """
    for batch in batches:
        check_shape("batch", batch, 1, 1_000_000)
    check_shape("repetitions", repetitions, 1, 1_000)
    sizes = [(name, people) for name in environments for people in _sizes(name, populations)]
    for name, people in sizes:
        make_sized(name, people)  # raise errors before anything is measured
    found = []
    print(_HEADER + _OPPONENT if opponent else _HEADER)
    for name, people in sizes:
        for line in measure(name, people, batches, repetitions, opponent=opponent):
            found.append(line)
            print(_table_line(line, opponent is not None), flush=True)
    print(f"{jax.local_device_count()} {jax.default_backend()} device(s)", end="")
    print("; ratio: time per step divided by the opponent's, in turns" if opponent else "")
    return found


def load_opponent(name: str | Path) -> Opponent:
    """Load the function `opponent(workload)` of a Python file.

    It takes a `Workload` and returns a function that runs an episode once and returns its seconds
    per step, or None for an environment that it does not have.

    Args:
        name: "numba" or "numpy" for the opponents in the repository's folder `benchmarks`, or the
            path of a Python file.

    Raises:
        FairgymError: There is no such file, it cannot be loaded, or it has no such function.
    """
    path = Path(name)
    if name in OPPONENTS:
        path = Path(__file__).parents[3] / "benchmarks" / f"{name}_opponent.py"
        if not path.is_file():
            raise FairgymError(
                f"against is {name!r}, which is in the folder `benchmarks` of a clone; install"
                " fairgym from one (`pip install -e .`), or give the Python file"
            )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise FairgymError(
            f"against must be {', '.join(OPPONENTS)} or a Python file, got {str(path)!r}"
        )
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))  # as when the file is run
    try:
        with running(f"against is {str(name)!r}, which cannot be loaded"):
            spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    if not callable(getattr(module, "opponent", None)):
        raise FairgymError(f"against is {str(path)!r}; the file has no function `opponent`")
    return module.opponent


_HEADER = (
    f"{'environment':<12} {'people':>9} {'batch':>6} {'policies':>8} {'us/step':>10}"
    f" {'steps/s':>10} {'person-steps/s':>15} {'compile s':>9}"
)
_OPPONENT = f" {'opponent us':>11} {'ratio':>6}"


def _table_line(line: Measurement, beside: bool) -> str:
    def shown(value: float | None, form: str) -> str:
        return "-" if value is None else format(value, form)

    return (
        f"{line.environment:<12} {shown(line.population, ','):>9} {line.batch:>6}"
        f" {'yes' if line.policies else 'no':>8} {line.us_per_step:>10,.1f}"
        f" {line.steps_per_s:>10,.0f} {shown(line.person_steps_per_s, '.3g'):>15}"
        f" {line.compile_s:>9.1f}"
    ) + beside * f" {shown(line.opponent_us_per_step, ',.1f'):>11} {shown(line.ratio, '.2f'):>6}"


def _sizes(name: str, populations: Sequence[int]) -> Sequence[int | None]:
    """Return the population sizes to measure; [None] for an environment without that argument."""
    system = registry.get(name)
    sized = issubclass(system, PopulationEnvironment) and system().spec.exchangeable
    return populations if sized else [None]
