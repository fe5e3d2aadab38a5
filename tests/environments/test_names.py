"""Cards name every element of an action and every parameter that may differ over regions."""

import re
import shlex
from pathlib import Path

import pytest

import fairgym
from fairgym.cli import simulate, train
from fairgym.config.parameters import Parameter, params_settings, with_params
from fairgym.policies import with_fixed
from fairgym.training.scenarios import default_baseline, pairs_of
from fairgym.utils.changes import slug

CARDS = {
    card.parent.name: card.read_text()
    for card in (Path(fairgym.__file__).parent / "environments").glob("*/README.md")
}

# Arguments of small systems; those without are as large as they are.
SMALL = {"attention": {}, "bank_loans": {}, "epidemic": {}}


def small(name):
    return SMALL.get(name, {"population": 60})


def section(name):
    found = re.search(r"\n## Names to change\n(.*?)\n## ", CARDS[name], re.DOTALL)
    assert found is not None
    return found[1]


def commands(name):
    """The words of every command in the section, after fairgym."""
    (block,) = re.findall(r"```sh\n(.*?)```", section(name), re.DOTALL)
    return [shlex.split(line)[1:] for line in block.splitlines()]


@pytest.mark.parametrize("name", CARDS)
def test_a_card_names_the_elements_and_the_parameters_per_region(name):
    env, text = fairgym.make(name, **small(name)), section(name)
    for agent in env.agents:
        assert f"`{agent}`" in text
        space = env.action_space(agent)
        named = space.elements[:1] if space.chooses_row else space.elements  # persons are numbered
        for element in named:
            pattern = f"{slug(element.label)}_REGION"
            assert f"`{element.name}`" in text or f"`{pattern}`" in text, element.name
    per_region = {s.name for s in params_settings(env) if isinstance(s, Parameter) and s.parts}
    said = re.findall(r"`(\w+)`", text.partition("These parameters are")[2].partition(". ")[0])
    assert set(said) == per_region and len(said) == len(per_region)


@pytest.mark.parametrize("name", CARDS)
def test_the_examples_of_a_card_are_understood(name):
    env = fairgym.make(name, **small(name))
    for command, *words in commands(name):
        words += [word for key, size in small(name).items() for word in (f"--{key}", str(size))]
        if command == "train":
            config = train.plan_of(words).config
            fixed, params = pairs_of(config.fixed), pairs_of(config.params)
        else:
            changed = simulate.plan_of(words)[0].scenarios[-1]
            fixed, params = pairs_of(changed.fixed), pairs_of(changed.params)
        assert fixed and params
        base = env.spec.baselines[default_baseline(env)]
        assert with_fixed(env, base, fixed) != base
        assert with_params(env, env.default_params, params) != env.default_params
