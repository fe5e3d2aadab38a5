"""Values of the wrong type, as a caller without a type checker gives them.

The other tests run with types checked at run time, which refuses such values before the library
sees them; so these run in a process of their own.
"""

import json
import re
import subprocess
import sys

import pytest

CALLS = {
    "make('loan', population='1000')": "population must be a whole number from 2 to .*, got '1000'",
    "make('loan', population=10.0)": "population must be a whole number from 2 to .*, got 10.0",
    "make('loan', horizon=True)": "horizon must be a whole number from 1 to .*, got True",
    "make('loan', group_by=None)": "group_by must be advantage or race, got None",
    "make('loan', group_by=['race'])": "group_by must be advantage or race, got ..race..$",
    "make('loan', applicants='few')": "applicants must be a whole number from 1 to .*, got 'few'",
    "ToyParams(luck='0.1')": "ToyParams.luck must be a number from 0 to 3.40282e.38, got '0.1'",
    "ToyParams(target_first=None)": "ToyParams.target_first must be a number .*, got None",
    "rollout(toy, toy.default_params, policies, key, 2.0)": "horizon must be a whole .*, got 2.0",
    "Objective(toy.metrics, {'gain': '0.5'})": "weights of 'gain' must be a number, got '0.5'",
    "Objective(toy.metrics, {'gain': None})": "weights of 'gain' must be a number, got None",
    "Objective(toy.metrics, {}, {'gain': '1'})": "bounds of 'gain' must be a number, got '1'",
    "Objective.frontier(toy, '0.5')": "lambda must be a number from 0 to 1, got '0.5'",
    "Objective.uniform(toy).bounded('0.1')": "bounds must be a number, or one per metric, got",
    "Constant(toy.action_space('level'), 'high')": "a constant action must be one .*, got 'high'",
    "fixed_policies(toy, {'level': None})": "a constant action must be 2 numbers .*, got None",
    "FMacem(epochs='3')": "epochs must be a whole number from 1 to .*, got '3'",
    "FMacem(epochs=3.0)": "epochs must be a whole number from 1 to .*, got 3.0",
    "FMacem(elite_share='all')": "elite_share must be a number from 0 to 1, got 'all'",
    "Objective(toy.metrics, {'gain': np.float32(0.5)})": "",  # a number as good as any
    "ToyParams(luck=np.float64(0.2))": "",
}
SCRIPT = """
import json, sys
import jax, numpy as np
from fairgym import make, rollout
from fairgym.algorithms import algorithms
from fairgym.core import FairgymError
from fairgym.fairness import Objective
from fairgym.policies import Constant, Random, fixed_policies
from toys import Toy, ToyParams

FMacem, toy, key = algorithms.get("f-macem"), Toy(), jax.random.key(0)
policies = {agent: Random(toy.action_space(agent)) for agent in toy.agents}
messages = {}
for call in json.load(sys.stdin):
    try:
        eval(call)
        messages[call] = ""
    except FairgymError as error:
        messages[call] = str(error)
    except Exception as error:
        messages[call] = f"{type(error).__name__} instead of a FairgymError: {error}"
json.dump(messages, sys.stdout)
"""


@pytest.fixture(scope="module")
def messages():
    """Call -> the message of its error."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps(list(CALLS)),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("call", CALLS)
def test_one_sentence_tells_what_is_wrong(call, messages):
    if CALLS[call]:
        assert re.search(CALLS[call], messages[call]) and "\n" not in messages[call]
    else:
        assert messages[call] == ""
