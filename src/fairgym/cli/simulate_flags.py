"""Flags of `fairgym simulate`."""

import dataclasses
from collections.abc import Sequence

from fairgym.cli.output import ALL_HELP, Output
from fairgym.cli.pairs import describe_elements
from fairgym.cli.parsing import Parser, add_environment, flag, without_data
from fairgym.config.settings import Setting, fields_of
from fairgym.core import ParamInfo
from fairgym.utils import make

PROG = "fairgym simulate"


@dataclasses.dataclass(frozen=True)
class Common(Output):
    """Flags of every simulation."""

    baseline: str = flag(
        "",
        "Fixed policies to change; by default the environment's first baseline that is not entirely"
        " random, or the learned policies of the run.",
    )
    scenarios: str = flag(
        "",
        "YAML, JSON or TOML file with named scenarios. --episodes, --seed, --reference and the"
        " environment's flags override it; other changes belong in the file.",
        metavar="FILE",
    )
    reference: str = flag("", "Scenario to compare the others with.")
    episodes: int | None = flag(None, "Number of episodes of each scenario; 32 by default.")
    seed: int | None = flag(None, "Seed of the episodes; 0 by default.")
    world: str = flag(
        "",
        "Parameters of all scenarios, the reference included: a rival world by name, or a value."
        " Other worlds are then left out.",
        metavar="NAME|NAME=VALUE",
    )
    worlds: bool = flag(
        True,
        "Run the scenarios in every rival world of the environment too, and tell first which clear"
        " effects change their sign. It takes as long again for each world.",
    )
    sensitivity: bool = flag(
        False,
        "Vary the uncertain parameters over their ranges: how much of the variance of each"
        " difference each of them explains, and where the difference changes its sign.",
    )
    decompose: str = flag(
        "",
        "Divide the gap between two groups in a rate into decisions, starting attributes, dynamics"
        " and their interactions.",
        metavar="MEASURE",
    )
    out: str | None = flag(
        None,
        "Write a page that opens offline: what changes, who gains and loses, over time, and what"
        " could overturn it. Its name ends in .html.",
        metavar="FILE",
    )
    list: bool = flag(False, "List ready-made reforms, rival worlds and uncertain parameters.")
    all: bool = flag(False, ALL_HELP)
    null: bool = flag(
        False,
        "Add a permutation test: the probability of such gaps if the group made no difference, and"
        " each disparity beside its null distribution (group labels shuffled within the same"
        " episodes).",
    )


@dataclasses.dataclass(frozen=True)
class Changes:
    """Flags of changes, which may be repeated, with one pair each."""

    fix: tuple[str, ...] = flag(
        (),
        "Change the decision of an agent, or of one element or group: a number, a change such as"
        " +30%, the name of an option, random, or a rule by name (first-come) or as"
        " module:function. It may hold in some steps only: '0.2 from 60 until 120 over 12'.",
        metavar="AGENT[.ELEMENT]=VALUE",
    )
    params: tuple[str, ...] = flag(
        (),
        "Change a parameter, or that of one group: a number, or a change such as +30%. It may hold"
        " in some steps only, as with --fix.",
        metavar="NAME[.GROUP]=VALUE",
    )


@dataclasses.dataclass(frozen=True)
class Reforms:
    """The flag of ready-made reforms."""

    reform: tuple[str, ...] = flag(
        (),
        "Add a ready-made reform as a scenario (--list); 'NAME from 60 until 120' limits it to some"
        " steps. May be repeated.",
        metavar="NAME",
    )


def flags_parser(settings: Sequence[Setting], name: str | None) -> Parser:
    """Return the parser of all flags."""
    about = f"Simulate {name or 'an environment'} with fixed policies, without training."
    parser = Parser(f"{PROG} {name or 'ENVIRONMENT'}", about)
    parser.add_fields(Common)
    known: dict[str, str] = {}
    if name is not None:
        with without_data():
            known = _names(name)
    for change in fields_of(Changes):
        about = f"{change.info.description}{known.get(change.name, '')}"
        parser.add(dataclasses.replace(change, info=ParamInfo(about)))
    parser.add_fields(Reforms)
    add_environment(parser, settings, {}, {})
    return parser


def _names(environment: str) -> dict[str, str]:
    """Names for flags of changes in an environment, for the help: flag -> sentence."""
    env = make(environment)
    info = env.default_params.info()
    params = (f"{name} (per {about.per})" if about.per else name for name, about in info.items())
    return {
        "fix": f" Elements: {describe_elements(env)}.",
        "params": f" Parameters: {', '.join(params)}.",
    }
