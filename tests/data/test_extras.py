"""Which extra needs what: the people of every environment need only pyarrow."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fairgym.core import FairgymError
from fairgym.data import store

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
# Distributions of the two extras -> the modules that they install.
MODULES = {"ipumspy": "ipumspy", "pandas": "pandas", "scikit-learn": "sklearn"}


def distributions(extra):
    return {re.split(r"[\[>=]", text)[0] for text in EXTRAS[extra]}


def test_the_environments_need_pyarrow_and_the_importers_the_rest():
    assert distributions("data") == {"pyarrow"}
    assert distributions("importers") == {"pyarrow", *MODULES}


@pytest.mark.full
def test_every_environment_works_without_the_libraries_of_the_importers():
    """Made, and reset and stepped abstractly, in a process in which they cannot be imported."""
    code = f"""
import importlib.abc, json, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {list(MODULES.values())}:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Absent())
import jax, fairgym
from fairgym.utils.registry import environments
from fairgym.data import describe, population_names
from sized import of_size

described = [len(describe(name)) > 0 for name in population_names()]

found = {{}}
for name in environments.names():
    env = of_size(name, 50)
    keys = jax.random.split(jax.random.key(0), len(env.agents))
    actions = {{a: env.action_space(a).sample(k) for a, k in zip(env.agents, keys)}}
    params = env.default_params
    state = jax.eval_shape(env.reset, keys[0], params)[1]
    stepped = jax.eval_shape(lambda s: env.step(keys[0], s, actions, params), state)
    found[name] = len(jax.tree.leaves(stepped)) > 0
print(json.dumps({{**found, "described": all(described)}}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {"loan", "loan_simple", "health", "education"} <= set(found) and all(found.values())


@pytest.mark.parametrize(
    "module, doing",
    [
        ("pyarrow.parquet", "reading populations"),
        ("sklearn.linear_model", "fitting scores"),
        ("ipumspy.readers", "importing IPUMS extracts"),
        ("pandas", "importing"),
    ],
)
def test_what_is_absent_is_told_with_the_extra_that_installs_it(monkeypatch, module, doing):
    monkeypatch.setitem(sys.modules, module.partition(".")[0], None)
    if "." in module:
        monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(FairgymError) as refused:
        store.need(module, doing)
    said = re.fullmatch(
        rf"{doing} needs (\S+): pip install -e '\.\[(\w+)\]' in a clone of fairgym",
        str(refused.value),
    )
    assert said and said[1] in distributions(said[2])
    assert said[2] == ("data" if module.startswith("pyarrow") else "importers")
