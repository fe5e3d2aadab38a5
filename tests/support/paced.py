"""A toy learner with a known number of environment steps, and a small task for it."""

import dataclasses
import json
from pathlib import Path

from toy_algorithm import Toy

from fairgym.algorithms import algorithms
from fairgym.benchmark import learner_names, learner_of

TASK = """
title = "Two servers"
suite = "decisions"
environment = "two_servers"
disparity = "served_gap"
steps = 1_000
reference = [-1.0, 1.0]
ideal = [0.0, 0.0]
learners = []

[environment_args]
horizon = 5

[reward]
waiting = 1.0

[fairness]
served_gap = 1.0
"""

LEARNER = """
title = "Walker"
algorithm = "paced:Paced"
levels = [0.2, 0.8]

[settings]
walks = 10

[published.two_servers]
step = 0.3

[space]
step = { low = 0.01, high = 1.0, log = true }
"""


@algorithms.register("paced")
@dataclasses.dataclass(frozen=True)
class Paced(Toy):
    """A random walk.

    Attributes:
        walks: Episodes of an update.
        short_term: Name of a measure.
    """

    walks: int = 4
    short_term: str = ""

    def steps_per_update(self, env):
        return self.walks * env.horizon


def _fingerprint(name, task):
    """Of a learner with a file in the current folder, or a built-in one; "" of fixed rules."""
    if Path(f"{name}.toml").exists():
        return learner_of(f"{name}.toml").fingerprint_in(task)
    return learner_of(name).fingerprint_in(task) if name in learner_names() else ""


def row(task, learner, stage, level, seed, reward, unfairness, **more):
    """A stored row, with texts as they are read."""
    numbers = {"reward": reward, "unfairness": unfairness, "terminated": 0.0}
    numbers |= {"steps": 100.0, "seconds": 2.0}
    empty = dict.fromkeys(("disparity", "null", "p", "rates"), "")
    head = {"task": task.name, "fingerprint": task.fingerprint, "algorithm": learner}
    head["learner_fingerprint"] = more.pop("learner_fingerprint", _fingerprint(learner, task))
    head |= {"stage": stage, "setting": "published", "level": level, "seed": seed}
    about = {"episodes": 16, "settings": json.dumps({}), "commit": "c", "versions": "v"}
    found = {**head, **empty, **numbers, **about, "finished": "now", **more}
    return {name: str(value) for name, value in found.items()}
