"""`fairgym evaluate --log`: the decisions of a policy as a table that `fairgym audit` reads."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax

from fairgym.cli.output import say
from fairgym.cli.parsing import flag
from fairgym.core import FairgymError
from fairgym.training.comparison import LEARNED, policies_of
from fairgym.training.decisions import decision_of, log_decisions
from fairgym.training.run import Run


def log_flag() -> Any:
    """Return the flag for the file of the log."""
    return flag(
        None,
        "Also write a .parquet or .csv file with one row per decision in these episodes, and a"
        " .toml file beside it with the roles of its columns, so that `fairgym audit FILE` needs no"
        " flags. DECISION names another kind of decision than the environment's first one.",
        metavar="[DECISION=]FILE",
    )


def log_policy_flag() -> Any:
    """Return the flag for the policy that is logged."""
    return flag(
        LEARNED,
        "Policy whose decisions are logged: learned, or a baseline such as random.",
        metavar="NAME",
    )


def logging(
    asked: str | None, policy: str, runs: Sequence[Run], sample: bool, massage: bool
) -> Callable[[int, int], None] | None:
    """Return a function of episodes and seed that writes the log; None if none is asked for.

    Everything that can be refused is refused here, before anything is measured.

    Args:
        asked: Value of the flag: FILE or DECISION=FILE.
        policy: Name of the policy.
        runs: The runs; there must be one.
        sample: As `fairgym.training.comparison.compare`.
        massage: As `fairgym.training.comparison.compare`.

    Raises:
        FairgymError: There are several runs, there is no such decision or policy, or the file
            cannot be written.
    """
    if asked is None:
        if policy != LEARNED:
            raise FairgymError(f"log_policy needs --log FILE, got {policy!r} without it")
        return None
    from fairgym.audit.logs import require_log, roles_path, write_log

    if len(runs) > 1:
        raise FairgymError(f"log needs a single run, got {len(runs)}; log one after the other")
    (run,) = runs
    name, equals, file = asked.partition("=")
    if not equals or not name.isidentifier():
        name, file = "", asked
    path = Path(file)
    decision_of(run.env.spec, run.env.name, name)
    require_log(path)
    env, policies = policies_of(run, policy, sample=sample, massage=massage)

    def write(episodes: int, seed: int) -> None:
        say(f"logging: {policy}")
        key = jax.random.key(seed)
        log = log_decisions(env, run.params, policies, key, episodes, decision=name)
        write_log(log, path)
        say(f"wrote {path} and {roles_path(path)}: {log.rows:,} decisions")
        say(f"fairgym audit {path}")

    return write
