"""Run the software of others on fairgym's environments, each in its own virtual environment.

    python tools/clients.py                 # every client
    python tools/clients.py torchrl rejax   # some

`tests/clients/run_NAME.py` is the script of a client; `requirements-NAME.txt` beside it pins the
releases it needs. Clients whose programs are in no released package are listed in `sources.txt`;
their repository is fetched where it can be reached. Everything lands in `build/clients`: virtual
environments, sources, and one log per client. A failure does not stop the others; the exit status
is 1 if any client failed, and 2 for an unknown name.
"""

import dataclasses
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "tests" / "clients"
BUILD = ROOT / "build" / "clients"
SCRIPT_SECONDS, FETCH_SECONDS = 1_800, 120
SHOWN_LINES = 25  # of the log of a client that failed


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of a client.

    Attributes:
        name: Name of the client.
        line: Last line of its script: "client | release | what was run"; "" if it failed.
        seconds: Time of the script, without the installation.
    """

    name: str
    line: str
    seconds: float

    @property
    def row(self) -> str:
        """The outcome as a row of the table in `docs/adapters.md`."""
        return f"| {self.line or f'{self.name} | FAILED | see build/clients/{self.name}.log'} |"


def names() -> list[str]:
    """Return the names of all clients."""
    return sorted(path.stem.removeprefix("run_") for path in SCRIPTS.glob("run_*.py"))


def sources() -> dict[str, tuple[str, str]]:
    """Return the repository and the commit of clients that are in no released package, by name."""
    lines = (SCRIPTS / "sources.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {name: (url, commit) for name, url, commit in rows}


def fetch(name: str, log: Path) -> Path | None:
    """Return the folder of a client's sources; None if it has none or they cannot be reached."""
    if name not in sources():
        return None
    url, commit = sources()[name]
    folder = BUILD / "sources" / name
    mark = folder / "fetched"
    if mark.exists() and mark.read_text(encoding="utf-8").strip() == commit:
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    steps = (["init", "--quiet"], ["fetch", "--quiet", "--depth", "1", url, commit])
    for step in (*steps, ["checkout", "--quiet", "FETCH_HEAD"]):
        if not _run(["git", "-C", str(folder), *step], log, FETCH_SECONDS):
            return None
    mark.write_text(f"{commit}\n", encoding="utf-8")
    return folder


def install(name: str, log: Path) -> Path | None:
    """Return the Python in which a client is installed beside fairgym; None if that failed."""
    folder, needs = BUILD / name, SCRIPTS / f"requirements-{name}.txt"
    python, mark = folder / "bin" / "python", folder / "installed"
    wanted = needs.read_text(encoding="utf-8") + (ROOT / "pyproject.toml").read_text("utf-8")
    if mark.exists() and mark.read_text(encoding="utf-8") == wanted:
        return python
    venv = [sys.executable, "-m", "venv", str(folder)]
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-compile"]
    steps = (venv, [*pip, "--editable", f"{ROOT}[data,interop]", "--requirement", str(needs)])
    if not all(_run(step, log) for step in steps):
        return None
    mark.write_text(wanted, encoding="utf-8")
    return python


def run(name: str) -> Outcome:
    """Install a client and run its script."""
    log = BUILD / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("", encoding="utf-8")
    python = install(name, log)
    if python is None:
        return Outcome(name, "", 0.0)
    source = fetch(name, log)
    before, started = len(_text(log)), time.monotonic()
    passed = _run(
        [str(python), str(SCRIPTS / f"run_{name}.py")],
        log,
        SCRIPT_SECONDS,
        {"CLIENT_SOURCE": str(source)} if source else {},
    )
    said = [line for line in _text(log)[before:].splitlines() if line.count(" | ") == 2]
    return Outcome(name, said[-1] if passed and said else "", time.monotonic() - started)


def _text(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")


def _run(
    command: list[str],
    log: Path,
    seconds: float | None = None,
    settings: dict[str, str] | None = None,
) -> bool:
    """Run a command, append what it prints to the log, and return whether it succeeded."""
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    env |= {"GIT_TERMINAL_PROMPT": "0", "JAX_PLATFORMS": "cpu", **(settings or {})}
    with log.open("a", encoding="utf-8") as out:
        out.write(f"$ {' '.join(command)}\n")
        out.flush()
        try:
            done = subprocess.run(
                command, stdout=out, stderr=subprocess.STDOUT, env=env, timeout=seconds, cwd=BUILD
            )
        except subprocess.TimeoutExpired:
            out.write(f"stopped after {seconds} seconds\n")
            return False
    return done.returncode == 0


def main(chosen: list[str]) -> int:
    """Run clients, print a table, and return the exit status."""
    unknown = [name for name in chosen if name not in names()]
    if unknown:
        print(f"unknown client {unknown[0]!r}; the clients are: {', '.join(names())}")
        return 2
    outcomes = []
    for name in chosen or names():
        print(f"{name} ...", flush=True)
        outcome = run(name)
        outcomes.append(outcome)
        if not outcome.line:
            print("\n".join(_text(BUILD / f"{name}.log").splitlines()[-SHOWN_LINES:]))
        print(
            f"{name}: {'done' if outcome.line else 'FAILED'} in {outcome.seconds:.0f} s", flush=True
        )
    print("\n| client | release | works on |\n| --- | --- | --- |")
    print("\n".join(outcome.row for outcome in outcomes))
    return int(any(not outcome.line for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
