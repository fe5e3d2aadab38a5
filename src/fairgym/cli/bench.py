"""`fairgym bench`: the speed of environments."""

import dataclasses
from collections.abc import Sequence

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
    opponent: str = flag(
        "", "Python file with another implementation to compare with.", metavar="FILE"
    )


def bench(arguments: Sequence[str]) -> None:
    """Measure environments and print the table."""
    from fairgym.training import devices
    from fairgym.utils.registry import environments

    flags = parse(BenchFlags, arguments, "fairgym bench")
    if not flags.names:
        raise FairgymError(f"no environment is given; there are: {', '.join(environments.names())}")
    devices.configure()
    from fairgym.bench import load_opponent, main_bench

    given = {"populations": flags.populations, "batches": flags.batches}
    with flags.computing():
        found = main_bench(
            flags.names,
            repetitions=flags.repetitions,
            opponent=load_opponent(flags.opponent) if flags.opponent else None,
            **{name: value for name, value in given.items() if value is not None},
        )
    flags.give("bench", lambda: {"results": [dataclasses.asdict(one) for one in found]})
