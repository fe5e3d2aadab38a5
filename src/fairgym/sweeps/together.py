"""Engine that trains several runs with the same program in one vectorised update."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from fairgym.algorithms import Algorithm
from fairgym.sweeps.engines import PATIENT, failure_by
from fairgym.sweeps.plan import Failed, Planned, Show, unfinished
from fairgym.training.loop import Training, training
from fairgym.utils import interrupts

TOGETHER = 8  # default number of runs in one update


class Vmap:
    """Training in this process, with several runs of one program in a vectorised update.

    The runs may differ in seeds and in values of parameters, not in hyperparameters or objectives.
    Results are equal up to rounding, because sums have another order. If the update of an
    algorithm cannot be vectorised, its runs are trained one after another.

    Args:
        width: Largest number of runs in one update; memory grows with it.
    """

    def __init__(self, width: int = TOGETHER) -> None:
        self.width = width

    def run(
        self, planned: Sequence[Planned], show: Show, say: Callable[[str], None]
    ) -> list[Failed]:
        """Train as in `Engine.run`."""
        programs: dict[str, list[Planned]] = {}
        for one in unfinished(planned):
            programs.setdefault(one.program, []).append(one)
        failed = []
        with interrupts.patiently(PATIENT):
            for several in programs.values():
                for start in range(0, len(several), self.width):
                    crew = _Together(several[start : start + self.width], show, say)
                    failed += crew.train()
        return failed


class _Together:
    """Runs that are updated together.

    Each is a coroutine that writes its own folder and yields the state to update.
    """

    def __init__(self, several: Sequence[Planned], show: Show, say: Callable[[str], None]) -> None:
        self.several, self.show, self.say = several, show, say
        self.running: list[tuple[Planned, Training, Algorithm, Any]] = []
        self.failed: list[Failed] = []
        self.shown = contextlib.ExitStack()
        self.vectorised = True

    def train(self) -> list[Failed]:
        """Train all runs to their ends."""
        try:
            with self.shown:
                for one in self.several:
                    progress = self.shown.enter_context(self.show(one))
                    steps = training(
                        one.config,
                        one.folder,
                        resume=one.resume,
                        overwrite=one.overwrite,
                        progress=progress,
                    )
                    self._advance(one, steps, None)
                width = len(self.running)
                while self.running:
                    updated = self._update(width)
                    for found in updated:  # each run goes to the end of the queue, or has ended
                        one, steps, *_ = self.running.pop(0)
                        self._advance(one, steps, found)
        except BaseException as error:
            for _, steps, *_ in self.running:
                with contextlib.suppress(BaseException):
                    steps.throw(error)  # each keeps what it has
            raise
        return self.failed

    def _advance(self, one: Planned, steps: Training, found: PyTree) -> None:
        """Send a run its update, and receive the next state from it."""
        try:
            if isinstance(found, Exception):
                algorithm, state = steps.throw(found)  # which raises it
            else:
                algorithm, state = next(steps) if found is None else steps.send(found)
            self.running.append((one, steps, algorithm, state))
        except StopIteration:
            pass  # it is finished
        except Exception as error:
            self.failed.append(failure_by(error, one))

    def _update(self, width: int) -> list[Any]:
        """Return updated states and logs of all runs in order, or the error of a run."""
        algorithm = self.running[0][2]
        states = [state for *_, state in self.running]
        if self.vectorised:
            # Filled up to the first width, so that fewer runs at the end compile nothing new.
            filled = states + states[:1] * (width - len(states))
            try:
                return _in_one(algorithm, filled)[: len(states)]
            except Exception as error:  # an error of one run shows up alone
                self.vectorised = False
                name = type(algorithm).__name__
                reason = type(error).__name__
                self.say(f"an update of {name} cannot be vectorised ({reason}); one after another")
        return [_or_error(algorithm, state) for state in states]


def _or_error(algorithm: Algorithm, state: PyTree) -> Any:
    """Update of one run, or the error that it raises."""
    try:
        return jax.block_until_ready(algorithm.update(state))
    except Exception as error:
        return error


def _in_one(
    algorithm: Algorithm, states: Sequence[object]
) -> list[tuple[Any, Mapping[str, object]]]:
    """One vectorised update of states that differ only in the values of arrays."""
    parts = [eqx.partition(state, eqx.is_array) for state in states]
    rest = parts[0][1]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(arrays for arrays, _ in parts))
    arrays, log = _vectorised(algorithm, rest, stacked)
    log = jax.device_get(dict(log))
    return [
        (
            eqx.combine(jax.tree.map(lambda leaf, k=k: leaf[k], arrays), rest),
            {name: value[k] for name, value in log.items()},
        )
        for k in range(len(states))
    ]


@eqx.filter_jit
def _vectorised(algorithm: Algorithm, rest: PyTree, stacked: PyTree) -> tuple[Any, Any]:
    def one(arrays: PyTree) -> tuple[Any, dict[str, Any]]:
        state, log = algorithm.update(eqx.combine(arrays, rest))
        return eqx.filter(state, eqx.is_array), {k: jnp.asarray(v) for k, v in log.items()}

    return jax.vmap(one)(stacked)
