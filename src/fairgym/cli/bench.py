"""`fairgym bench`: the speed of environments."""

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairgym.cli.output import Output
from fairgym.cli.parsing import flag, names, parse
from fairgym.core import FairgymError


@dataclasses.dataclass(frozen=True)
class BenchFlags(Output):
    """Measure the speed of environments, with and without policies."""

    names: tuple[str, ...] = names("Environment to measure, such as loan.", "NAME")
    populations: tuple[int, ...] | None = flag(
        None, "Population sizes, such as 1000,10000.", metavar="N,N,..."
    )
    batches: tuple[int, ...] | None = flag(
        None, "Numbers of episodes that run in parallel.", metavar="N,N,..."
    )
    repetitions: int = flag(5, "Number of measurements, of which the median is reported.")
    against: str = flag(
        "",
        "Measure another implementation in turns with fairgym, both on one processor core: numba"
        " (needs benchmarks/requirements-numba.txt) or numpy, in a clone, or a Python file.",
        metavar="NAME",
    )


def bench(arguments: Sequence[str]) -> None:
    """Measure environments and print the table."""
    from fairgym.training import devices
    from fairgym.utils.registry import environments

    flags = parse(BenchFlags, arguments, "fairgym bench")
    if not flags.names:
        raise FairgymError(f"no environment is given; there are: {', '.join(environments.names())}")
    given = {"populations": flags.populations, "batches": flags.batches}
    with _one_core() if flags.against else contextlib.nullcontext():
        devices.configure()
        from fairgym.bench import load_opponent, main_bench

        with flags.computing():
            found = main_bench(
                flags.names,
                repetitions=flags.repetitions,
                opponent=load_opponent(flags.against) if flags.against else None,
                **{name: value for name, value in given.items() if value is not None},
            )
    flags.give("bench", lambda: {"results": [dataclasses.asdict(one) for one in found]})


@contextlib.contextmanager
def _one_core() -> Iterator[None]:
    """Restrict this process to one processor core inside the block, where the system can."""
    tasks = Path("/proc/self/task")
    if not tasks.is_dir():
        yield
        return
    allowed = os.sched_getaffinity(0)
    _restrict(tasks, {min(allowed)})
    try:
        yield
    finally:
        _restrict(tasks, allowed)


def _restrict(tasks: Path, cores: set[int]) -> None:
    for task in tasks.iterdir():
        with contextlib.suppress(ProcessLookupError):  # a thread that has just ended
            os.sched_setaffinity(int(task.name), cores)
