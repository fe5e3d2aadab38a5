"""`fairgym bench`: the speed of environments."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from fairgym.cli.parsing import Names, parse, typed
from fairgym.core import FairgymError


@typed(metavars={"populations": "N,N,...", "batches": "N,N,...", "opponent": "FILE"})
@dataclasses.dataclass(frozen=True)
class BenchFlags:
    """Measure the speed of environments, without and with policies.

    Attributes:
        names: environments, such as loan.
        populations: numbers of people, as 1000,10000.
        batches: numbers of episodes that run together.
        repetitions: number of times that each figure is measured; the median counts.
        opponent: Python file of another implementation to compare with.
        json: output as one JSON list.
    """

    names: Names
    populations: tuple[int, ...] | None = None
    batches: tuple[int, ...] | None = None
    repetitions: int = 5
    opponent: str = ""
    json: bool = False


def bench(arguments: Sequence[str]) -> None:
    """Measure and print."""
    from fairgym.training import devices
    from fairgym.utils.registry import environments

    flags: Any = parse(BenchFlags, arguments, "fairgym bench")
    if not flags.names:
        raise FairgymError(f"no environment is given; there are: {', '.join(environments.names())}")
    devices.configure()
    from fairgym.bench import load_opponent, main_bench

    given = {"populations": flags.populations, "batches": flags.batches}
    given = {name: value for name, value in given.items() if value is not None}
    if flags.opponent:
        given["opponent"] = load_opponent(flags.opponent)
    main_bench(flags.names, as_json=flags.json, repetitions=flags.repetitions, **given)
