"""The plan that an action of `fairgym sweep` is about, and its folder."""

from pathlib import Path
from typing import Any

from fairgym.core import FairgymError
from fairgym.utils.files import require_folder, require_path

PROG = "fairgym sweep"


def plan_of(flags: Any) -> tuple[Any, Path]:
    """The sweep of a file, and its folder.

    Args:
        flags: parsed flags of an action: `names` has the file, `out` the folder.

    Raises:
        FairgymError: there is not one file, it has no plan, or the folder cannot be one.
    """
    from fairgym.config import read_sweep

    if len(flags.names) != 1:
        given = " ".join(flags.names) or "nothing"
        raise FairgymError(f"the plan is {given!r}; it takes one file, such as sweep.toml")
    path = Path(flags.names[0])
    if flags.out is not None:
        require_path(flags.out, "out")
    found = read_sweep(path)
    out = Path("runs") / path.stem if flags.out is None else Path(flags.out)
    require_folder(out)
    return found, out
