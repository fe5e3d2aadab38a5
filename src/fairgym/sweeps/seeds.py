"""One configuration with several seeds."""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from fairgym.sweeps.choosing import engine_of
from fairgym.sweeps.engines import Show, failure_of
from fairgym.sweeps.plan import Planned, loaded, plan_seeds
from fairgym.training.config import RunConfig
from fairgym.training.loop import Progress
from fairgym.training.run import Run


def train_seeds(
    config: RunConfig,
    out: str | Path,
    seeds: Sequence[int],
    *,
    resume: bool = False,
    overwrite: bool = False,
    workers: int = 1,
    show: Show | None = None,
    say: Callable[[str], None] = print,
) -> list[Run]:
    """Train the same configuration with several seeds, in `out`/seed-N; compiled once.

    Args:
        config: configuration of the runs; its own seed does not count.
        out: the folder that holds the run folders.
        seeds: the seeds.
        resume: as for `fairgym.train`; finished seeds are passed over.
        overwrite: as for `fairgym.train`.
        workers: number of processes that train, each one run at a time; 1 for this process. The
            results are the same bits.
        show: a run -> a context that yields its progress.
        say: called with a line about what happens besides.

    Returns:
        The finished runs, one for each seed.

    Raises:
        FairgymError: as `fairgym.train`; nothing is trained if one of the folders may not be
            written to. A run that fails keeps no other from being trained; the error comes then.
    """
    engine = engine_of(workers)
    planned = plan_seeds(config, Path(out), seeds, resume=resume, overwrite=overwrite)
    failed = engine.run(planned, show or _silent, say)
    if failed:
        raise failure_of(failed, len(planned))
    return loaded({"": planned})[""]


def _silent(one: Planned) -> contextlib.AbstractContextManager[Progress]:
    return contextlib.nullcontext(lambda done, total, line: None)
