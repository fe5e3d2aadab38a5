"""A toy algorithm that meets its fate in the third update, as long as files say so.

The environment variable FATES names a folder: a file "FATE-N" in it is one time that the fate is
met, and "updates" lists who did which update. With a file "slow" an update takes a while, with
"together" nobody goes on to the third.
"""

import dataclasses
import multiprocessing
import os
import signal
import time
from pathlib import Path
from typing import ClassVar

from toy_algorithm import Toy

from fairgym.algorithms import algorithms
from fairgym.core import FairgymError
from fairgym.training import loop


def keep_every_update():
    """Let this process write a checkpoint after each update."""
    loop.train.__kwdefaults__ = {**(loop.train.__kwdefaults__ or {}), "checkpoint_seconds": 0.0}


def told(error):
    """The sentence on an error that an update raises below, such as 'MemoryError("...")'."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    number = 1 + next(n for n, line in enumerate(lines) if line.strip() == f"raise {error}")
    kind, message = error.removesuffix('")').split('("')
    where = f"update() of the algorithm 'fated' ({Path(__file__).name}:{number})"
    return f"error in {where}: {kind}: {message}"


if multiprocessing.parent_process() is not None or "RAY_RAYLET_PID" in os.environ:  # a worker
    keep_every_update()


@algorithms.register("fated")
@dataclasses.dataclass(frozen=True)
class Fated(Toy):
    """A random walk with an end.

    Attributes:
        fate: end of the walk: "killed", "doomed", "refused", "broken", "full" or "slow".
        step: length of a step.
    """

    extended_by: ClassVar[str] = ""

    fate: str = ""

    def update(self, state):
        fates, number = Path(os.environ["FATES"]), int(state.updates)
        with (fates / "updates").open("a") as log:
            log.write(f"{os.getpid()} {self.fate} {number}\n")
        if (fates / "slow").exists():
            time.sleep(0.05)
        while number == 2 and (fates / "together").exists():
            time.sleep(0.02)
        marks = sorted(fates.glob(f"{self.fate}-*")) if number == 2 else []
        for mark in marks[:1]:
            mark.unlink()
            if self.fate == "refused":
                raise FairgymError("step must be good, got bad")
            if self.fate == "broken":
                raise ZeroDivisionError("a bug")
            if self.fate == "full":
                raise MemoryError("no room for 8 numbers")
            os.kill(os.getpid(), signal.SIGKILL)
        return super().update(state)


BUG = told('ZeroDivisionError("a bug")')
FULL = told('MemoryError("no room for 8 numbers")')
