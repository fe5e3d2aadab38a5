"""Own environments, algorithms, metrics and modules that break the contract.

Each case is a module of a few lines. Commands that use it exit with code 2, name what is broken,
show no file of fairgym, and leave nothing behind. The cases run one after another in a process of
their own, without the type checks of the other tests, which would refuse such values first.
"""

import json
import os
import re
import subprocess
import sys
from typing import NamedTuple

import pytest

HEAD = """
import dataclasses
import os
import sys
from functools import cached_property

import jax
import jax.numpy as jnp

import fairgym
from fairgym import core
from fairgym.algorithms import algorithms
from fairgym.fairness import Direct, Disparity, Rate, metric_classes
from fairgym.policies import Constant
from toy_algorithm import Toy as Walk
from two_servers import Jobs, Queues, TwoServers
"""
ENVIRONMENT = """
@fairgym.register_environment("mine")
@dataclasses.dataclass(frozen=True)
class Mine(TwoServers):
    name = "mine"

"""
STEP = "    def transition(self, noise, state, actions, params):\n"
STEPPED = f"{STEP}        after, jobs, end = super().transition(noise, state, actions, params)\n"
SPEC = (
    "    @cached_property\n    def spec(self):\n        return dataclasses.replace(super().spec, "
)
ALGORITHM = """
@algorithms.register("walk")
@dataclasses.dataclass(frozen=True)
class Own(Walk):
    epochs: int = 2

"""
UPDATE = "    def update(self, state):\n"
METRIC = """
@metric_classes.register("Own")
@dataclasses.dataclass(frozen=True)
class Own:
    kind = "direct"
    sign = 1
    title = "own"

    def unit_in(self, info):
        return "jobs"

    def normalised(self, totals):
        return self.value(totals)

    def defined(self, totals):
        return jnp.array(True)

    def value(self, totals):
"""
OBJECTIVE = {
    "environment": "two_servers",
    "algorithm": "toy",
    "objective": {"weights": {"own": 1}, "metrics": {"own": {"type": "Own"}}},
}
TRAIN = "train mine --out out"
LEARN = "train two_servers --algorithm walk --out out"
OWN_METRIC = "train --config own.json --algorithm f-macem --epochs 1 --out out"


class Case(NamedTuple):
    """A module, the command that imports it, and expressions that standard error must have."""

    text: str
    words: str
    says: tuple[str, ...]


def mine(body: str, *says: str, words: str = TRAIN) -> Case:
    return Case(HEAD + ENVIRONMENT + body, words, says)


def stepped(values: str, *says: str) -> Case:
    return mine(f"{STEPPED}        return {values}\n", *says)


def raising(what: str, *says: str, words: str = TRAIN) -> Case:
    where = r"error in transition\(\) of the environment 'mine' \(plug_\w+.py:\d+\): "
    return mine(f"{STEP}        raise {what}\n", where, *says, words=words)


def spec(changes: str, *says: str) -> Case:
    return mine(f"{SPEC}{changes})\n", *says)


def method(name: str, value: str, *says: str) -> Case:
    return mine(f"    def {name}:\n        return {value}\n", *says)


def walk(body: str, *says: str, words: str = LEARN) -> Case:
    return Case(HEAD + ALGORITHM + body, words, says)


def updated(values: str, *says: str) -> Case:
    return walk(
        f"{UPDATE}        state, log = super().update(state)\n        return {values}\n", *says
    )


def metric(value: str, *says: str) -> Case:
    return Case(f"{HEAD}{METRIC}        {value}\n", OWN_METRIC, says)


CHECK = "fairgym.testing.check_environment checks the whole contract"
LEARNER = "fairgym.testing.check_algorithm checks the whole contract"
OF = "of the environment 'mine' must"
THEIRS = r'Traceback .*\n  File ".*plug_\w+.py", line \d+, in '

CASES = {
    # what a step returns
    "two values": stepped("after, jobs", rf"transition\(\) {OF} return .*, got 2 values", CHECK),
    "a step of None": stepped("None", rf"transition\(\) {OF} return .*, got None", CHECK),
    "a component of another shape": stepped(
        "after, dataclasses.replace(jobs, arrived=jnp.zeros(3)), end",
        rf"the component 'arrived' {OF} be float32\[2\] \(one number per group\), got float32\[3\]",
        CHECK,
    ),
    "a component of another type": stepped(
        "after, dataclasses.replace(jobs, waiting=jnp.array(False)), end",
        rf"the component 'waiting' {OF} be float32\[\], got bool\[\]",
    ),
    "a component that is text": stepped(
        "after, dataclasses.replace(jobs, waiting='many'), end",
        rf"the component 'waiting' {OF} be float32\[\], got a str",
    ),
    "components of another class": stepped(
        "after, {'waiting': 1.0}, end", "of the class Jobs, got a dict", CHECK
    ),
    "a state of another shape": stepped(
        "after.replace(waiting=jnp.zeros(3)), jobs, end",
        rf"the state {OF} keep .*, but waiting is float32\[2\] first and float32\[3\] later",
        CHECK,
    ),
    "a state of another type": stepped(
        "after.replace(waiting=jnp.zeros(2, jnp.int32)), jobs, end",
        r"waiting is float32\[2\] first and int32\[2\] later",
    ),
    "a state of another class": stepped("{'time': state.time}, jobs, end", "got a dict", CHECK),
    "an end per group": stepped(
        "after, jobs, jnp.zeros(2, bool)", rf"terminated {OF} be one bool, .*got bool\[2\]", CHECK
    ),
    "an end that is a number": stepped(
        "after, jobs, jnp.float32(0)", rf"terminated {OF} be one bool, .*got float32\[\]"
    ),
    "an end that is None": stepped("after, jobs, None", "terminated .*, got None", CHECK),
    # how it begins, and what agents see
    "a state without time": method(
        "initial_state(self, key, params)", "jnp.zeros(2)", "initial_state.*State with time", CHECK
    ),
    "a time that is a float": method(
        "initial_state(self, key, params)",
        "Queues(time=jnp.float32(0), waiting=jnp.zeros(2))",
        r"initial_state.* whole number, got float32\[\]",
    ),
    "no observations": method(
        "observe(self, state, params)", "None", rf"observe\(\) {OF} .*router, got None", CHECK
    ),
    "an agent without observation": method(
        "observe(self, state, params)", "{}", rf"observe\(\) {OF} .*router, got none"
    ),
    "an observation of a missing agent": mine(
        "    def observe(self, state, params):\n"
        "        seen = super().observe(state, params)\n"
        "        return seen | {'ghost': seen['router']}\n",
        rf"observe\(\) {OF} .*router, got router, ghost",
    ),
    "an observation of another shape": mine(
        "    def observe(self, state, params):\n"
        "        seen = super().observe(state, params)['router']\n"
        "        return {'router': dataclasses.replace(seen, features=jnp.zeros((3, 1)))}\n",
        r"features .*'router'.* must be float32\[2, 1\], .*got float32\[3, 1\]",
    ),
    "an observation that is an array": method(
        "observe(self, state, params)",
        "{'router': state.waiting}",
        "'router' .* must be an instance of Entities, got",
    ),
    "no space of observations": method(
        "observation_space(self, agent)", "None", rf"observation_space\('router'\) {OF}.*got None"
    ),
    "no space of actions": method(
        "action_space(self, agent)", "None", rf"action_space\('router'\) {OF} .*got None", CHECK
    ),
    "a space that is a number": method("action_space(self, agent)", "3", "ActionSpace, got an int"),
    # what is declared
    "no spec": mine("    spec = None\n", f"spec {OF} be .*EnvironmentSpec, got None", CHECK),
    "agents that are numbers": spec("agents=(1, 2)", rf"agents {OF} be .*names, got \(1, 2\)"),
    "no agents": spec("agents=()", f"agents {OF} name at least one agent"),
    "agents that are text": spec("agents='router'", f"agents {OF} be a tuple of different names"),
    "a group that is no text": spec("groups=(None, 'right')", f"groups {OF} be a tuple of"),
    "metrics that are a list": spec("metrics=[]", f"metrics {OF} be a mapping .*, got 0 values"),
    "a metric that is None": spec("metrics={'odd': None}", "the metric 'odd' .* got None", CHECK),
    "a metric of a missing component": spec(
        "metrics={'odd': Direct('ghost')}",
        "the metric 'odd' .* needs the component 'ghost', which is none of: waiting, arrived",
        CHECK,
    ),
    "a rate of a missing component": spec(
        "metrics={'odd': Disparity(Rate('served', 'ghost'))}", "the metric 'odd' .*'ghost'"
    ),
    "a scheme that is a metric": spec(
        "schemes={'odd': Direct('waiting')}", "the scheme 'odd' .*must have the method initial"
    ),
    "components that are no struct": spec("components=dict", "components .* got the class dict"),
    "parameters that are a dict": mine(
        "    @property\n    def default_params(self):\n        return {'arrivals': 2.0}\n",
        "default_params .* got a dict",
    ),
    "a horizon of none": mine("    horizon: int = None\n", f"horizon {OF} .*, got None", CHECK),
    "a name that is a number": mine("    name = 3\n", "the name .* must be text, got 3"),
    # errors of the user's own
    "an error": raising("RuntimeError('beds are gone')", "RuntimeError: beds are gone\n", THEIRS),
    "a key error": raising("KeyError('beds')", "KeyError: 'beds'\n", THEIRS),
    "an error over many lines": raising("ValueError('first\\nsecond')", "ValueError: first\n"),
    "an error that cannot be printed": Case(
        f"{HEAD}\nclass Odd(Exception):\n    def __str__(self):\n        raise self\n{ENVIRONMENT}"
        f"{STEP}        raise Odd\n",
        TRAIN,
        (r"transition\(\) .*: Odd: its message cannot be printed\n", THEIRS),
    ),
    "GeneratorExit": raising("GeneratorExit", ": GeneratorExit\n", THEIRS),
    "CancelledError": raising("__import__('asyncio').CancelledError", ": CancelledError\n"),
    "StopIteration": raising("StopIteration", ": StopIteration\n", THEIRS),
    "SystemExit": raising("SystemExit(0)", ": SystemExit: 0\n", THEIRS),
    "a missing file": raising("OSError(13, 'denied', 'beds.csv')", "PermissionError: .*beds.csv"),
    "a missing module": raising("ModuleNotFoundError(name='beds')", "ModuleNotFoundError"),
    "a decision of Python on an array": mine(
        f"{STEP}        if state.time > 3:\n            return None\n",
        "TracerBoolConversionError: Attempted boolean conversion",
        r"plug_\w+.py\", line \d+, in transition\n    if state.time > 3",
    ),
    "an error in spec": mine(
        "    @cached_property\n    def spec(self):\n        return self.ghost\n",
        "error in spec.* of the environment 'mine' .*: AttributeError: ",
        THEIRS,
    ),
    "an error in observe": mine(
        "    def observe(self, state, params):\n        return 1 / 0\n",
        r"error in observe\(\) of the environment 'mine' .*: ZeroDivisionError: division by zero",
        THEIRS,
    ),
    "an error while simulating": raising("ValueError('x')", THEIRS, words="simulate mine"),
    "an error while benchmarking": raising("ValueError('x')", THEIRS, words="bench mine"),
    "an error in a sweep": raising("ValueError('x')", THEIRS, words="sweep run plan.toml"),
    "two values in a sweep": mine(
        f"{STEPPED}        return after, jobs\n", "got 2 values", words="sweep run plan.toml"
    ),
    "two values while simulating": mine(
        f"{STEPPED}        return after, jobs\n", "got 2 values", CHECK, words="simulate mine"
    ),
    "two values while evaluating": mine(
        f"{STEPPED}        done = os.path.exists('out/summary.json')\n"
        "        return (after, jobs) if done else (after, jobs, end)\n",
        "got 2 values",
        words=f"{TRAIN} --algorithm toy && evaluate out",
    ),
    "an error while reporting": mine(
        f"{STEP}        if os.path.exists('out/summary.json'):\n"
        "            raise ValueError('late')\n"
        "        return super().transition(noise, state, actions, params)\n",
        r"error in transition\(\) of the environment 'mine' .*ValueError: late",
        THEIRS,
        words=f"{TRAIN} --algorithm toy && report out",
    ),
    "an error in a rule": Case(
        "def rule(observation, key):\n    return 1 / 0\n",
        "simulate loan_simple --fix admissions=MODULE:rule",
        (r"the rule 'plug_\w+:rule' .*error in rule\(\) \(plug_\w+.py:2\): ZeroDivision", THEIRS),
    ),
    # algorithms
    "an error in init": walk(
        "    def init(self, *given, **more):\n        raise ValueError('no seed')\n",
        r"error in init\(\) of the algorithm 'walk' \(plug_\w+.py:\d+\): ValueError: no seed\n",
        THEIRS,
    ),
    "a state of None": walk(
        "    def init(self, *given, **more):\n        return None\n"
        "    def policies(self, state):\n        return state.walk\n",
        r"error in policies\(\) of the algorithm 'walk' .*NoneType",
        THEIRS,
    ),
    "an error in update": walk(
        f"{UPDATE}        raise ValueError('diverged')\n",
        r"error in update\(\) of the algorithm 'walk' .*: ValueError: diverged\n",
        THEIRS,
    ),
    "StopIteration in update": walk(
        f"{UPDATE}        raise StopIteration\n", r"update\(\) .*walk.*: StopIteration\n", THEIRS
    ),
    "GeneratorExit in update": walk(
        f"{UPDATE}        raise GeneratorExit\n", r"update\(\) .*walk.*: GeneratorExit\n", THEIRS
    ),
    "an error in update of a seed": walk(
        f"{UPDATE}        raise ValueError('diverged')\n",
        r"2 of 2 runs failed: error in update\(\) of the algorithm 'walk' .*: ValueError: diverged",
        THEIRS,
        words=f"{LEARN} --seeds 0:2",
    ),
    "an update without a log": updated(
        "state",
        r"update\(\) of the algorithm 'walk' must return \(state, log\), got a ToyState",
        LEARNER,
    ),
    "an update of None": updated("None", r"must return \(state, log\), got None", LEARNER),
    "a learned state of another shape": updated(
        "state.replace(walk=jnp.zeros(4)), log",
        r"the state from update\(\) .* walk is float32\[3\] first and float32\[4\] later",
        LEARNER,
    ),
    "a log that is a list": updated("state, [log]", "the log from update.*, got 1 value", LEARNER),
    "a log of vectors": updated(
        "state, log | {'odd': jnp.zeros(2)}", r"'odd' in the log .*, got float32\[2\]", LEARNER
    ),
    "a log of text": updated("state, log | {'odd': 'x'}", "'odd' in the log .*, got a str"),
    "no policies": walk(
        "    def policies(self, state):\n        return None\n",
        r"policies\(\) of the algorithm 'walk' .*router, got None",
        LEARNER,
    ),
    "an agent without a policy": walk(
        "    def policies(self, state):\n        return {'ghost': None}\n", "router, got ghost"
    ),
    "a policy that is None": walk(
        "    def policies(self, state):\n        return {'router': None}\n",
        "the policy of 'router' .* must be a function, got None",
        LEARNER,
    ),
    "a policy of another shape": walk(
        "    def policies(self, state):\n"
        "        return {'router': lambda observation, key: jnp.zeros(7)}\n",
        r"the policy of 'router' .* must return an action of shape \[1\] .*got float32\[7\]",
        LEARNER,
    ),
    "an error in a policy": walk(
        "    def policies(self, state):\n        return {'router': Own.act}\n"
        "    def act(observation, key):\n        return 1 / 0\n",
        r"error in Own.act\(\) \(plug_\w+.py:\d+\): ZeroDivisionError",
        THEIRS,
    ),
    "updates that are text": walk(
        "    num_updates = 'many'\n", "num_updates of the algorithm 'walk' .*, got 'many'", LEARNER
    ),
    "a discount that is None": walk("    score_discount = None\n", "score_discount .*, got None"),
    # metrics
    "an error in a metric": metric(
        "raise ValueError('no jobs')",
        r"error in normalised\(\) of the class of metric 'Own' \(.*\): ValueError: no jobs\n",
        THEIRS,
    ),
    "a metric of a component that is not there": metric(
        "return totals.ghost",
        r"error in normalised\(\) of .*'Own' .*AttributeError: .*ghost",
        THEIRS,
    ),
    # modules that misbehave while they are imported
    "a module with an error": Case(
        "def f():\n    return 1 / 0\nf()\n",
        "list",
        ("the module 'plug_.*' cannot be imported: ZeroDivisionError: division by zero", THEIRS),
    ),
    "a module that raises GeneratorExit": Case(
        "raise GeneratorExit\n", "list", ("'plug_.*' cannot be imported: GeneratorExit", THEIRS)
    ),
    "a module that raises CancelledError": Case(
        "import asyncio\nraise asyncio.CancelledError\n",
        "list",
        ("'plug_.*' cannot be imported: CancelledError", THEIRS),
    ),
    "a module whose error cannot be printed": Case(
        "class Odd(Exception):\n    def __str__(self):\n        raise self\nraise Odd\n",
        "list",
        ("'plug_.*' cannot be imported: Odd: its message cannot be printed", THEIRS),
    ),
    "a module that closes standard output": Case(
        "import sys\nsys.stdout.close()\n", "list", ("'plug_.*' cannot be imported: it closes st",)
    ),
    "a module that leaves the working folder": Case(
        "import os\nos.chdir('/')\n",
        "list",
        ("'plug_.*' cannot be imported: it changes the working folder from .* to /, ",),
    ),
    "a module that checks itself": Case(
        f"{HEAD}{ENVIRONMENT}{STEP}        return 1 / 0\n\nfairgym.make('mine')\n",
        "list",
        (r"cannot be imported: error in transition\(\) of the environment 'mine' .*: ZeroDiv",),
    ),
    "a registered name that is a number": Case(
        HEAD + ENVIRONMENT.replace('"mine"', "3"),
        TRAIN,
        ("plug_.*cannot be imported: .*the name of this environment must be text, got 3",),
    ),
}

SCRIPT = """
import contextlib, importlib, io, json, os, sys, traceback
from pathlib import Path

def run(name, words):
    sys.modules.pop(name, None)
    before, home = set(Path().rglob("*")), os.getcwd()
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    try:
        from fairgym.cli import main
        code = main(["--import", name, *words.replace("MODULE", name).split()])
    except BaseException:
        code = 1
        traceback.print_exc(file=sys.stderr)
    errors = sys.stderr.getvalue()
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    os.chdir(home)
    left = sorted(map(str, set(Path().rglob("*")) - before))
    return {"code": code, "errors": errors, "left": left}

found = {}
for number, (case, text, words) in enumerate(json.load(sys.stdin)):
    name = f"plug_{number}"
    folder = Path(name)
    folder.mkdir()
    os.chdir(folder)
    sys.path[0] = os.getcwd()
    Path(f"{name}.py").write_text(text)
    Path("own.json").write_text(json.dumps(OBJECTIVE))
    Path("plan.toml").write_text(PLAN)
    *first, last = words.split(" && ")
    for command in first:
        assert run(name, command)["code"] == 0, case
    found[case] = run(name, last)
    os.chdir("..")
json.dump(found, sys.stdout)
"""
PLAN = '[base]\nenvironment = "mine"\nalgorithm = "toy"\nepochs = 1\n[grid]\nhorizon = [2, 3]\n'


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Case -> exit code, standard error and what was left behind."""
    given = [(name, case.text, case.words) for name, case in CASES.items()]
    done = subprocess.run(
        [sys.executable, "-c", f"OBJECTIVE, PLAN = {OBJECTIVE!r}, {PLAN!r}\n{SCRIPT}"],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        cwd=tmp_path_factory.mktemp("broken"),
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", CASES)
def test_broken_code_is_explained_and_leaves_nothing(case, found):
    errors = found[case]["errors"]
    assert found[case]["code"] == 2, errors
    assert errors.startswith("fairgym: ") or "--seeds" in CASES[case].words, errors
    for says in CASES[case].says:
        assert re.search(says, errors), errors
    assert not re.search(r"File \".*[\\/]fairgym[\\/]", errors), errors
    assert found[case]["left"] == []
