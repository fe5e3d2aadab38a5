"""The campaign of races: two processes never train in one folder at once.

Two processes begin at the same moment, again and again, each time in a fresh folder. The
environment variable FAIRGYM_RACES=200 sets the number of races; five of them take a second.
"""

import os
import time
from collections import Counter

import pytest
from workers import Worker

from fairgym.training import load

RACES = int(os.environ.get("FAIRGYM_RACES", "8"))
EPOCHS = 3
HELD = "another process is training in"
DONE = "already holds a run"


@pytest.fixture(scope="module")
def racers():
    both = [Worker("racer.py"), Worker("racer.py")]
    try:
        assert [racer.answer() for racer in both] == ["ready", "ready"]
        yield both
    finally:
        for racer in both:
            racer.end()


def race(racers, out, overwrite=False, first=0):
    """What each of them says in the end; `first` is told first."""
    at = time.monotonic() + 0.05
    for seed in (first, 1 - first):
        order = {"out": str(out), "seed": seed, "epochs": EPOCHS, "overwrite": overwrite}
        racers[seed].order(at=at, **order)
    return [racer.answer() for racer in racers]


@pytest.fixture(scope="module")
def alone(racers, tmp_path_factory, results):
    """The results of each of them without a race."""
    folder = tmp_path_factory.mktemp("alone")
    for seed, racer in enumerate(racers):
        racer.order(out=str(folder / f"{seed}"), seed=seed, epochs=EPOCHS, at=0, overwrite=False)
        assert racer.answer() == ""
    found = [results(folder / f"{seed}") for seed in range(2)]
    assert found[0] != found[1]
    return found


def test_one_trains_and_the_other_is_told(racers, alone, results, tmp_path):
    outcomes = Counter()
    for number in range(RACES):
        out = tmp_path / f"{number}" / "run"
        said = race(racers, out, first=number % 2)
        assert said.count("") == 1, said
        winner, sentence = said.index(""), max(said)
        assert (HELD in sentence or DONE in sentence) and str(out) in sentence
        outcomes[f"{winner} before", HELD if HELD in sentence else DONE] += 1
        check_whole(out, winner, alone, results)
    print(dict(outcomes))


@pytest.mark.full
def test_one_replaces_at_a_time(racers, alone, results, tmp_path):
    """Who comes a little later waits for nothing and is told, or replaces the whole new run."""
    outcomes = Counter()
    for number in range(max(1, RACES // 4)):
        out = tmp_path / f"{number}"
        race(racers, out)
        said = race(racers, out, overwrite=True, first=number % 2)
        assert all(not sentence or HELD in sentence for sentence in said) and "" in said
        outcomes[said.count("")] += 1
        check_whole(out, load(out).config.seed, alone, results)
        assert said[load(out).config.seed] == ""
    print(dict(outcomes))


def check_whole(out, winner, alone, results):
    """The folder holds the run of the winner and nothing else, as it trains without a race."""
    run = load(out)
    assert run.config.seed == winner and len(run.metrics) == run.summary["epochs"] == EPOCHS
    assert results(out) == alone[winner]
    assert not [path for path in out.rglob(".*")], "nothing is left over"
    assert [p.name for p in out.glob("checkpoints/*")] == [f"epoch-{EPOCHS:08d}.eqx"]
