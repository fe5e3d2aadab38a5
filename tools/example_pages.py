"""Make the example pages that the gallery opens, each by one command.

    python tools/example_pages.py site/examples

They are added to the built site, and are not in the repository.
"""

import contextlib
import io
import shlex
import sys
from pathlib import Path

from fairgym.cli import main as fairgym

ROOT = Path(__file__).parents[1]

# Name of a page -> the command that writes it to its `--out`.
PAGES = {
    "audit-arrests": "audit --example arrests",
    "audit-hmda": "audit --example hmda",
    "audit-resume-names": "audit --example resume-names",
    "what-if-relief": ("simulate loan --population 300 --horizon 60 --episodes 8 --reform relief"),
}


def main(out: str) -> None:
    """Write the pages into a folder."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    for name, words in PAGES.items():
        path = folder / f"{name}.html"
        with contextlib.redirect_stdout(io.StringIO()):
            code = fairgym([*shlex.split(words), "--out", str(path)])
        if code:
            sys.exit(f"fairgym {words} ended with code {code}")


if __name__ == "__main__":
    main(sys.argv[1])
