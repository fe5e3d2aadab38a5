"""Processes that do what they are told, again and again: a line of JSON for a line of JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOLDERS = [HERE, HERE.parent / "support"]  # with the toys that they work with


class Worker:
    """A process that runs a script of this folder.

    Args:
        script: its name; it first says "ready".
    """

    def __init__(self, script: str) -> None:
        path = os.pathsep.join([*map(str, FOLDERS), *sys.path])
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": path},
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.orders, self.answers = self.process.stdin, self.process.stdout

    def order(self, **order: Any) -> None:
        """Tell it what to do."""
        self.orders.write(json.dumps(order) + "\n")
        self.orders.flush()

    def answer(self) -> Any:
        """Its answer to the oldest order that has none."""
        return json.loads(self.answers.readline())

    def end(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()
        self.orders.close()
        self.answers.close()
