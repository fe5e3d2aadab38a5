"""Values of the wrong type, as a caller without a type checker gives them.

The other tests run with types checked at run time, which refuses such values before the library
sees them; so these run in a process of their own.
"""

import json
import subprocess
import sys

import pytest

CALLS = {
    "make('loan', population='1000')": "population is '1000'; it takes a whole number from 2",
    "make('loan', population=10.0)": "population is 10.0; it takes a whole number",
    "make('loan', horizon=True)": "horizon is True; it takes a whole number",
    "make('loan', group_by=None)": "group_by is None; it takes advantage or race",
    "make('loan', group_by=['race'])": "group_by is ['race']; it takes advantage or race",
    "make('loan', applicants='few')": "applicants is 'few'; it takes a whole number from 1",
    "ToyParams(luck='0.1')": "ToyParams.luck is '0.1'; it takes a number from 0 to 3.40282e+38",
    "ToyParams(target_first=None)": "ToyParams.target_first is None; it takes a number from 0 to 1",
    "rollout(toy, toy.default_params, policies, key, 2.0)": "horizon is 2.0; it takes a whole",
    "Objective(toy.metrics, {'gain': '0.5'})": "weights of 'gain' must be a number, got '0.5'",
    "Objective(toy.metrics, {'gain': None})": "weights of 'gain' must be a number, got None",
    "Objective(toy.metrics, {}, {'gain': '1'})": "bounds of 'gain' must be a number, got '1'",
    "Objective.frontier(toy, '0.5')": "lambda must be a number from 0 to 1, got '0.5'",
    "Objective.uniform(toy).bounded('0.1')": "bounds must be a number, or one per metric, got",
    "Constant(toy.action_space('level'), 'high')": "a constant action is 'high'; it takes one",
    "fixed_policies(toy, {'level': None})": "a constant action is None; it ",
    "FMacem(epochs='3')": "epochs is '3'; it takes a whole number from 1",
    "FMacem(epochs=3.0)": "epochs is 3.0; it takes a whole number from 1",
    "FMacem(elite_share='all')": "elite_share is 'all'; it takes a number from 0 to 1",
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
        assert CALLS[call] in messages[call] and "\n" not in messages[call]
    else:
        assert messages[call] == ""
