"""`version` of an environment is raised when it simulates something else by default.

`versions.json` holds what each system's version stands for: its constructor's defaults, its default
parameters, and sums of a short episode of random actions. Sums differ between processors in their
last digits; a hash would tell these apart, so numbers are compared.
"""

import dataclasses
import inspect
import json
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from tiers import in_tiers

import fairgym
from fairgym.policies import fixed_policies
from fairgym.utils.registry import environments
from fairgym.wrappers import NeverEnds

FILE = Path(__file__).with_name("versions.json")
RECORD = "python tests/environments/test_versions.py"
NAMES = [n for n in environments.names() if environments.get(n).__module__.startswith("fairgym.")]
SLOW = ("health", "education")
PEOPLE, STEPS = 200, 20
CLOSE = 1e-4  # of the mean size of the numbers; another processor is within 1e-6


def facts_of(name):
    """What a system does by default: names of facts -> values."""
    cls = environments.get(name)
    default = fairgym.make(name)
    arguments = {n: p.default for n, p in inspect.signature(cls).parameters.items()}
    facts = {f"argument {n}": value for n, value in arguments.items()}
    for field in dataclasses.fields(default.default_params):
        value = np.asarray(getattr(default.default_params, field.name), np.float64)
        facts[f"parameter {field.name}"] = [float(f"{x:.6g}") for x in value.reshape(-1)]

    people = min(PEOPLE, arguments["population"]) if "population" in arguments else None
    shapes = {"horizon": STEPS} if people is None else {"horizon": STEPS, "population": people}
    env = NeverEnds(cls(**shapes))
    policies = fixed_policies(env, dict.fromkeys(env.agents, "random"))
    run = jax.jit(lambda key: fairgym.rollout(env, env.default_params, policies, key))
    episode = run(jax.random.key(0))
    parts = {"sum of": episode.totals, "last state's": episode.final_state}
    for what, tree in parts.items():
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
            facts[f"{what} {jax.tree_util.keystr(path).lstrip('.')}"] = sketch(leaf)
    return json.loads(json.dumps(facts))


def sketch(values):
    """Mean, mean that weighs later entries more, and mean size, to 6 digits."""
    x = np.asarray(values, np.float64).reshape(-1)
    means = np.mean(x), np.mean(x * np.arange(1, x.size + 1)) / x.size, np.mean(np.abs(x))
    return [float(f"{mean:.6g}") for mean in means]


def equal(now, then):
    """True if two values of a fact are the same but for rounding."""
    if now == then:
        return True
    sketches = isinstance(now, list) and isinstance(then, list) and len(now) == len(then) > 0
    if not sketches or not all(isinstance(x, float) for x in now + then):
        return False
    return np.allclose(now, then, rtol=CLOSE, atol=CLOSE * abs(then[-1]), equal_nan=True)


def changes(now, then):
    """Facts that both have and that differ, in words."""
    return [
        f"{name}: {now[name]}, was {then[name]}"
        for name in then
        if name in now and not equal(now[name], then[name])
    ]


@pytest.mark.parametrize("name", in_tiers(NAMES, *set(NAMES).difference(SLOW)))
def test_the_version_says_what_is_simulated(name):
    version, then = environments.get(name)().spec.version, json.loads(FILE.read_text())[name]
    now = facts_of(name)
    if version == then["version"]:
        different = "\n  ".join(changes(now, then["facts"]))
        assert not different, (
            f"{name} simulates something else by default; raise `version` of its spec to"
            f" {version + 1} and run `{RECORD}`:\n  {different}"
        )
    assert (version, now.keys()) == (then["version"], then["facts"].keys()), (
        f"what version {version} of {name} stands for is not recorded; run `{RECORD}`"
    )


def test_a_changed_default_and_a_changed_sum_are_seen():
    then = {"argument banks": 1, "parameter relief": [0.5], "sum of profit": [100.0, 60.0, 100.0]}
    assert changes(then, then) == []
    rounded = {**then, "sum of profit": [100.001, 60.0, 100.0], "argument new": True}
    assert changes(rounded, then) == []
    assert changes({**then, "argument banks": 2}, then) == ["argument banks: 2, was 1"]
    assert len(changes({**then, "parameter relief": [0.501]}, then)) == 1
    assert len(changes({**then, "sum of profit": [100.0, 60.1, 100.0]}, then)) == 1


def record():
    """Write the file anew, one fact a line; refuse what differs under the same version."""
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    found = {}
    for name in NAMES:
        version, facts = environments.get(name)().spec.version, facts_of(name)
        then = known.get(name, {"version": None, "facts": {}})
        if version == then["version"] and (different := changes(facts, then["facts"])):
            sys.exit(f"{name} differs, and has the same version: raise it\n" + "\n".join(different))
        found[name] = {"version": version, "facts": facts}
    systems = []
    for name, known in found.items():
        facts = [f"    {json.dumps(fact)}: {json.dumps(v)}" for fact, v in known["facts"].items()]
        head = f'  "{name}": {{"version": {known["version"]}, "facts": {{\n'
        systems.append(head + ",\n".join(facts) + "}}")
    FILE.write_text("{\n" + ",\n".join(systems) + "\n}\n")


if __name__ == "__main__":
    record()
