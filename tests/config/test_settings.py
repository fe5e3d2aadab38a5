"""Every setting says what it is: the help of the command line is made of these lines."""

import dataclasses

import pytest

from fairgym.algorithms import algorithms
from fairgym.config.parameters import params_settings
from fairgym.config.settings import algorithm_settings, environment_settings, field_docs
from fairgym.utils.registry import environments

# A noun phrase does not open with a genitive or a question, nor with what stands before a noun.
NO_NOUN = set(
    "of what how who whose which when where why if for to by from in on at with as is are"
    " added set true false none told only".split()
)
SETTINGS = {
    f"{name}: {setting.name}": setting.help
    for registry, table in (
        (environments, environment_settings),
        (algorithms, algorithm_settings),
    )
    for name in registry.names()
    if registry.get(name).__module__.startswith("fairgym.")  # other tests register their own
    for setting in table(name)
}
PARAMS = {
    f"{name}: {setting.name}": setting.help
    for name in environments.names()
    if environments.get(name).__module__.startswith("fairgym.")
    for setting in params_settings(environments.get(name)())
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_has_a_help_that_opens_with_a_noun_phrase(setting):
    text = SETTINGS[setting]
    assert text, "no line in the docstring of its class"
    assert text.split()[0].lower().strip(",;:.") not in NO_NOUN, text
    assert text.endswith(".") and ".." not in text, text


@pytest.mark.parametrize("number", PARAMS)
def test_every_parameter_has_a_help_that_opens_with_a_noun_phrase(number):
    assert PARAMS[number].split()[0].lower().strip(",;:.") not in NO_NOUN, PARAMS[number]


@dataclasses.dataclass
class Base:
    """A base.

    Attributes:
        kept: what the base says,
            in two lines.
        changed: of the base.
    """

    kept: int = 0
    changed: int = 0


@dataclasses.dataclass
class Derived(Base):
    """One that inherits.

    Attributes:
        changed: of its own.
    """

    changed: int = 1


class Bare(Derived):
    pass


@pytest.mark.parametrize("cls", [Derived, Bare])
def test_inherited_fields_keep_the_lines_of_their_base(cls):
    assert field_docs(cls) == {
        "kept": "what the base says, in two lines.",
        "changed": "of its own.",
    }
