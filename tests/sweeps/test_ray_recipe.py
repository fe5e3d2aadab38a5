"""The commands of docs/sweeps.md for several machines, as written: two nodes in two homes."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BASE = {"environment": "loan_simple", "population": 40, "horizon": 6, "epochs": 2}
BASE |= {"episodes_per_epoch": 4, "hidden": 2, "evaluation_episodes": 2}
SECONDS = 60.0  # that a node may take to start on a busy machine
NODES = """
import ray
ray.init(log_to_driver=False)
print(sum(node["Alive"] for node in ray.nodes()), "alive")
"""


def commands():
    """The four commands of the page: for every machine, the first, the others, the sweep."""
    page = (ROOT / "docs" / "sweeps.md").read_text()
    found = re.search(r"\*\*Ray\.\*\*.*?```console\n(.*?)```", page, re.DOTALL)
    assert found is not None
    lines = [line.partition("#")[0].removeprefix("$ ").strip() for line in found[1].splitlines()]
    everywhere, first, other, sweep = lines
    assert everywhere.startswith("export ") and first == "ray start --head"
    return everywhere, first, other, sweep


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def homes(tmp_path):
    """The environments of two machines; on each Ray has run before, and left a token."""
    found = []
    for name in ("first", "second"):
        token = tmp_path / name / ".ray" / "auth_token"
        token.parent.mkdir(parents=True)
        token.write_text(f"the token of the {name} machine")
        kept = {k: v for k, v in os.environ.items() if k == k.upper() and not k.startswith("RAY_")}
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        more = {"HOME": str(tmp_path / name), "PATH": path, "RAY_worker_niceness": "0"}
        found.append({**kept, **more, "RAY_USAGE_STATS_ENABLED": "0", "CHECK_TYPES": "0"})
    return found


@contextlib.contextmanager
def started(command, environment, told):
    """A node that stays in the foreground, and goes with all of its processes."""
    small = "--num-cpus=1 --object-store-memory=83886080 --node-ip-address=127.0.0.1 --block"
    with told.open("w") as stream:
        process = subprocess.Popen(
            ["bash", "-c", f"{command} {small}"],
            env=environment,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        until = time.monotonic() + SECONDS
        while "--block" not in told.read_text():  # Ray says what this flag does once it runs
            assert process.poll() is None and time.monotonic() < until, told.read_text()
            time.sleep(0.2)
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20.0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.full
def test_two_machines_with_tokens_of_their_own_train_a_sweep(tmp_path, homes):
    plan = {"base": BASE, "grid": {"deposit_rate": [0.01, 0.02]}}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    everywhere, first, other, sweep = commands()
    port = free_port()

    def here(command):
        found = command.replace("FIRST:6379", f"127.0.0.1:{port}").replace("plan.toml", "plan.json")
        return f"{everywhere}; {found}"

    def run(command, environment):
        done = subprocess.run(
            ["bash", "-c", command], env=environment, cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    head, second = homes
    with (
        started(here(f"{first} --port={port}"), head, tmp_path / "head"),
        started(here(other), second, tmp_path / "second node"),
    ):
        address = f"RAY_ADDRESS=127.0.0.1:{port}"
        assert "2 alive" in run(f"{everywhere}; {address} python -c '{NODES}'", second)
        assert "2 runs are finished" in run(here(sweep), second)
