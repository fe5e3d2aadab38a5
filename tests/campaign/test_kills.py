"""The campaign of kills: what is killed at any moment and resumed ends with the same bits.

Trainings by every algorithm, and a reproduction, run in processes of their own, are killed by
SIGKILL at random moments, resumed, killed again, and resumed to their end. The suite kills four
times; the environment variable FAIRGYM_KILLS=50 sets another number, over all of them in turn.
Ten kills take about a minute. The moments follow from the number alone but for the machine's pace.
"""

import os
import random
from collections import Counter

import pytest
from workers import Worker

from fairgym.training.folder import RunFolder
from fairgym.utils.files import is_temporary

KILLS = int(os.environ.get("FAIRGYM_KILLS", "4"))
CHAIN = 4  # kills of one run at most
TRAIN = "train two_servers --horizon 4 --algorithm"
EPISODES = "--epochs 10 --episodes-per-epoch 4 --hidden 2 --evaluation-episodes 1"
GRADIENT = f"{EPISODES} --num-envs 2 --num-steps 2 --sampled-people 2 --critic-hidden 2"
VICTIMS = {
    "grid search": f"{TRAIN} grid-search --steps 6 --deviation-steps 3 --episodes 1",
    "reproduce": "reproduce queues",
    "F-MACEM": f"{TRAIN} f-macem {EPISODES}",
    "F-MAPPO": f"{TRAIN} f-mappo {GRADIENT} --num-minibatches 1 --update-epochs 1",
    "F-MADDPG": f"{TRAIN} f-maddpg {GRADIENT} --batch-size 4 --buffer-size 64"
    " --learning-starts 4 --gradient-steps 1",
}


class Killer(Worker):
    """The process that begins the others, and kills them."""

    def run(self, words, watch="", lines=0, after=None):
        """Exit code of a command; it is killed this long after its log has so many lines."""
        self.order(words=words, watch=str(watch), lines=lines, after=after)
        return self.answer()


@pytest.fixture(scope="module")
def killer():
    one = Killer("victim.py")
    try:
        assert one.answer() == "ready"
        yield one
    finally:
        one.end()


def runs_in(out):
    """Run folders below a folder, or the folder itself, in the order in which they are trained."""
    return sorted(path.parent.relative_to(out) for path in out.rglob("config.json"))


def lines_in(folder):
    path = folder / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def state(out, runs, epochs):
    """Where a kill has hit."""
    begun = [out / run for run in runs if RunFolder(out / run).config.exists()]
    if not begun:
        return "before anything was written"
    last = begun[-1]
    if (last / "summary.json").exists():
        return "after a run was finished"
    if lines_in(last) == epochs:
        return "while a run was finishing"
    return "between checkpoints" if list(last.glob("checkpoints/*.eqx")) else "before a checkpoint"


class Hunt:
    """One victim: its run without a kill, and the kills of others like it."""

    def __init__(self, name, killer, results, folder):
        self.name, self.killer, self.results, self.folder = name, killer, results, folder
        self.words, self.number = VICTIMS[name].split(), 0
        whole = folder / "whole"
        assert killer.run(self.command(whole)) == 0
        self.runs = runs_in(whole)
        self.whole = [results(whole / run) for run in self.runs]
        self.epochs = lines_in(whole / self.runs[-1])

    def command(self, out):
        resume = ["--resume"] if self.words[0] == "train" and (out / "config.json").exists() else []
        return [*self.words, "--out", str(out), *resume]

    def moment(self, out, chance):
        """A log and a number of its lines, and how long after they are there."""
        unfinished = [run for run in self.runs if not (out / run / "summary.json").exists()]
        watch = out / chance.choice(unfinished or self.runs)
        lines = min(self.epochs, chance.randint(0, self.epochs + 2))
        if lines <= lines_in(watch):  # those that are there already: while it is begun
            return watch / "metrics.jsonl", 0, chance.uniform(0.0, 3.0)
        return watch / "metrics.jsonl", lines, chance.choice([0.0, chance.uniform(0.0, 0.03)])

    def kill(self, most, chance, states):
        """Kill one run again and again, and resume it to its end; returns the number of kills."""
        self.number += 1
        out, kills = self.folder / f"{self.number}", 0
        while kills < most:
            watch, lines, after = self.moment(out, chance)
            code = self.killer.run(self.command(out), watch, lines, after)
            assert code in (0, -9), code
            if code == 0:
                break
            kills += 1
            states[state(out, self.runs, self.epochs)] += 1
        assert self.killer.run(self.command(out)) == 0
        assert runs_in(out) == self.runs
        assert [self.results(out / run) for run in self.runs] == self.whole, (self.name, out)
        left = [path for run in self.runs for path in (out / run).rglob("*") if is_temporary(path)]
        assert not left
        return kills


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_killed_and_resumed_to_the_same_bits(killer, results, tmp_path):
    chance, states, counts = random.Random(KILLS), Counter(), Counter()
    names = list(VICTIMS)[: max(2, KILLS // 4)]
    hunts = [Hunt(name, killer, results, tmp_path / name.replace(" ", "-")) for name in names]
    while sum(counts.values()) < KILLS:
        hunt = min(hunts, key=lambda hunt: counts[hunt.name])
        most = min(CHAIN, -(-KILLS // len(hunts)), KILLS - sum(counts.values()))
        counts[hunt.name] += hunt.kill(most, chance, states)
    print(dict(counts), dict(states))
    assert sum(states.values()) == KILLS
