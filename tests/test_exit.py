"""Exit codes of the command's process, also under load."""

import contextlib
import itertools
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

# Refused after the people were read, and after JAX has begun to work.
REFUSALS = [
    "train loan --elite-share 1.5 --out x",
    "train loan --fix admissions=2 --out x",
    "train health --bound gap=0.1 --out x",
    "data describe loan --source nope",
]
ON_ONE_CORE = (
    "import os, sys\n"
    "if hasattr(os, 'sched_setaffinity'):\n"
    "    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
)
COMMAND = f"{ON_ONE_CORE}from fairgym.cli import main\nsys.exit(main())"


@contextlib.contextmanager
def busy(number):
    """Processes that keep the core of the commands busy."""
    loop = [sys.executable, "-c", f"{ON_ONE_CORE}while True: pass"]
    processes = [subprocess.Popen(loop) for _ in range(number)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def refused(words, folder):
    """Run a command in a process; return its exit code and the beginning of its message."""
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *words.split()], cwd=folder, capture_output=True, text=True
    )
    one_sentence = done.stderr.startswith("fairgym: ") and done.stderr.count("\n") == 1
    return done.returncode, "one sentence" if one_sentence else done.stderr[-300:]


@pytest.mark.full
def test_refusals_under_load_exit_with_2(tmp_path):
    """Run two commands on one core, each a load for the other."""
    with ThreadPoolExecutor(2) as pool:
        codes = pool.map(lambda words: refused(words, tmp_path), REFUSALS[:2])
    assert Counter(codes) == {(2, "one sentence"): 2}
    assert not list(tmp_path.iterdir())


@pytest.mark.full
@pytest.mark.skipif("FAIRGYM_REFUSALS" not in os.environ, reason="set FAIRGYM_REFUSALS=200 to run")
def test_many_refusals_on_one_busy_core_exit_with_2(tmp_path):
    """Run many commands, ten minutes or more, to find rare failures."""
    number = int(os.environ["FAIRGYM_REFUSALS"])
    with busy(2), ThreadPoolExecutor(4) as pool:
        some = itertools.islice(itertools.cycle(REFUSALS), number)
        codes = Counter(pool.map(lambda words: refused(words, tmp_path), some))
    assert codes == {(2, "one sentence"): number}
    assert not list(tmp_path.iterdir())
