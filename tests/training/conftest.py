import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fairgym.training import RunConfig, train

SMALL = {
    "environment": "loan",
    "population": 60,
    "horizon": 20,
    "epochs": 4,
    "episodes_per_epoch": 8,
    "evaluation_episodes": 2,
    "hidden": 8,
}
TIMES = ("started", "finished", "wall_time_s")


@pytest.fixture(scope="session")
def small():
    """The configuration of a small run of F-MACEM."""
    return RunConfig.from_mapping(SMALL)


@pytest.fixture(scope="session")
def finished(small, tmp_path_factory):
    """That run, uninterrupted; not to be written to."""
    return train(small, tmp_path_factory.mktemp("runs") / "small")


@pytest.fixture(scope="session")
def results():
    """Folder -> everything that must be equal between equal runs."""

    def read(folder):
        folder = Path(folder)
        summary = json.loads((folder / "summary.json").read_text())
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        for values in (summary, *lines):
            for name in TIMES:
                values.pop(name, None)
        return summary, lines, (folder / "policy.eqx").read_bytes()

    return read
