"""The page that `fairgym simulate --out FILE` writes."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from fairgym.cli.common import as_words
from fairgym.cli.output import say
from fairgym.core import FairgymError
from fairgym.training.decomposition import Decomposition
from fairgym.training.scenarios import Simulation
from fairgym.training.sensitivity import Sensitivity
from fairgym.utils.files import make_folder, require_path, require_writable, write_whole

SUFFIX = ".html"


def require_page(out: str, scenarios: int) -> None:
    """Raise a FairgymError unless a page of so many scenarios can be drawn and written."""
    require_path(out, "out")
    path = Path(out)
    if path.suffix != SUFFIX:
        raise FairgymError(f"out must be a file that ends in {SUFFIX}, got {out!r}")
    if scenarios == 1:
        raise FairgymError(
            "out needs a difference to show; give a scenario beside the reference, by --reform,"
            " --fix or --params"
        )
    import fairgym.report.what_if  # noqa: F401 - needs matplotlib

    require_writable(path)


def write_page(
    out: str,
    arguments: Sequence[str],
    found: Simulation,
    settings: Mapping[str, object],
    swings: Sequence[Sensitivity],
    parts: Sequence[Decomposition],
) -> None:
    """Measure what a page shows beyond a simulation, and write the page.

    Args:
        out: Path that `require_page` accepts.
        arguments: Arguments of the command.
        found: The simulation, measured with `trace=True`.
        settings: Settings of the command.
        swings: Sensitivities of scenarios.
        parts: Divided gaps.
    """
    from fairgym.report.what_if import what_if_page
    from fairgym.report.what_if_measured import measure_what_if

    shown = measure_what_if(
        found, tuple(swings), tuple(parts), progress=lambda text: say(f"{text} ...")
    )
    command = shlex.join(["fairgym", "simulate", *arguments, *as_words()])
    scenarios = settings.get("scenarios")
    files = {}
    if isinstance(scenarios, str) and scenarios:
        files[scenarios] = Path(scenarios).read_text(encoding="utf-8", errors="replace")
    path = Path(out)
    make_folder(path.parent)
    write_whole(path, what_if_page(shown, command, settings, files).encode())
    say(f"wrote {path}")
