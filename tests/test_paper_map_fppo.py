"""The map of the F-PPO paper: complete, every name exists, and what is said of the code holds."""

import importlib
import inspect
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from paper_maps import docstring, resolved

import fairgym
from fairgym.algorithms import algorithms
from fairgym.cli import COMMANDS
from fairgym.environments.bank_loans.declarations import START_ADVANTAGED, START_DISADVANTAGED
from fairgym.experiments import experiments
from fairgym.experiments.fppo._courses import MODE_CAPTION
from fairgym.experiments.fppo._systems import ATTENTION, BANK_LOANS, EPIDEMIC
from fairgym.fairness import Objective
from fairgym.policies.massaging import LEAST_LEFT, Massaged
from fairgym.utils.registry import environments

MAP = Path(__file__).parents[1] / "docs" / "paper-map-fppo.md"
NUMBERS = {
    "Sections": [
        *("III-A", "III-B", "III-C", "IV-A", "IV-B"),
        *("V-A", "V-B", "V-C", "VI-A", "VI-B", "VI-C"),
    ],
    "Definitions and propositions": [
        "Definition 1",
        "Definition 2",
        "Problem formulation 1",
        "Proposition 1",
    ],
    "Equations": [str(n) for n in range(1, 11)],
    "Algorithms": ["1"],
    "Figures": [str(n) for n in range(1, 5)],
}

OTHERS = ("Case studies and baselines", "Errata")


def sections() -> dict[str, list[list[str]]]:
    """Cells of the rows of each section, without the heads of its tables."""
    found: dict[str, list[list[str]]] = {}
    section = ""
    for line in MAP.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
            found[section] = []
        elif line.startswith("| "):
            found[section].append([cell.strip() for cell in line.strip("| ").split(" | ")])
    return {name: rows[2:] for name, rows in found.items()}


SECTIONS = sections()
CODE = [
    (section, row[0], name)
    for section, rows in SECTIONS.items()
    if section != "Where paper and code differ"
    for row in rows
    for name in re.findall("`([^`]+)`", row[-1])
]


def test_everything_that_the_paper_numbers_has_one_row():
    assert {s: [row[0] for row in SECTIONS[s]] for s in NUMBERS} == NUMBERS
    assert {section for section, *_ in CODE} == {*NUMBERS, *OTHERS}
    assert "arxiv.org/abs/2401.06318v1" in MAP.read_text(encoding="utf-8")


def test_errata_name_a_place_of_the_paper():
    places = [row[0] for row in SECTIONS["Errata"]]
    assert len(places) >= 7 and all(len(row) == 4 for row in SECTIONS["Errata"])
    known = {f"section {number.split('-')[0]}" for number in NUMBERS["Sections"]}
    known |= {f"section {number}" for number in NUMBERS["Sections"]}
    known |= {f"equation {number}" for number in NUMBERS["Equations"]}
    known |= {"equations 8 to 10", "Algorithm 1", *NUMBERS["Definitions and propositions"]}
    assert set(places) <= known


def test_names_exist_and_are_documented():
    names = [name for *_, name in CODE if " " not in name]
    assert len(names) > 20
    assert [name for name in names if not docstring(resolved(name))] == []


def test_formulas_beyond_ppo_name_their_number():
    faults = []
    for section, number, name in CODE:
        if section == "Equations" and int(number) > 3 and " " not in name:
            module = importlib.import_module(resolved(name).__module__)
            if not re.search(rf"equations? (\d+ and )?{number}\b", inspect.getsource(module)):
                faults.append((number, name))
    assert faults == []


def test_commands_exist():
    calls = [name.split() for *_, name in CODE if " " in name]
    for program, command, first, *_ in calls:
        assert program == "fairgym" and command in COMMANDS
        known = experiments.names() if command == "reproduce" else environments.names()
        assert first in known
    shown = {call[2] for call in calls if call[1] == "reproduce"}
    assert {name for name in experiments.names() if name.startswith("fppo-")} <= shown


# ---------------------------------------------------------------- where paper and code differ


def test_the_distance_of_the_sets_of_counts_is_zero_where_the_true_one_is_one():
    """What the authors' code computes: the counts of both groups as positions of equal mass."""
    counts = [np.sort(np.array(start)) for start in (START_ADVANTAGED, START_DISADVANTAGED)]
    assert np.abs(counts[0] - counts[1]).mean() == 0.0
    true = np.abs(np.cumsum(np.array(START_ADVANTAGED) - np.array(START_DISADVANTAGED))).sum()
    assert true == pytest.approx(1.0)
    bank = fairgym.make("bank_loans", horizon=1)
    distance = bank.metrics["score_distance"]
    totals = fairgym.core.no_components(bank, bank.default_params)
    shares = jnp.array([START_ADVANTAGED, START_DISADVANTAGED])
    assert float(distance.value(totals.replace(score_shares=shares))) == pytest.approx(-1.0)


def test_policies_do_not_massage_unless_asked():
    bank = fairgym.make("bank_loans", horizon=20)
    learner = algorithms.get("f-ppo")(num_envs=2, num_steps=20, num_minibatches=2)
    state = learner.init(jax.random.key(0), bank, Objective.published(bank))
    assert not isinstance(learner.policies(state)["bank"], Massaged)


def test_numbers_of_the_code_and_of_the_paper():
    defaults = algorithms.get("f-ppo")()
    assert defaults.closeness == "density" and LEAST_LEFT == 0.005
    published = BANK_LOANS.authors.f_ppo
    assert published["delta"] == 0.05 and published["regularise"] == 1.0
    assert ATTENTION.limit == 0.1
    epidemic = fairgym.make("epidemic")
    assert (epidemic.first_infected, epidemic.random_infected, epidemic.burn_in) == ((0,), 0, 1)
    told = {row[0]: row[1:] for row in SECTIONS["Where paper and code differ"]}
    assert len(told) == 19 and all(len(row) == 3 for row in told.values())
    assert told["delta in bank loans"] == ["0.05", "0.005", "0.05"]
    assert told["CPO's limit in attention"][-1] == f"{ATTENTION.limit:g}"
    published = ATTENTION.authors.f_ppo
    weights = f"{published['regularise']:g} and {published['delta']:g}"
    assert told["lambda and delta in attention"][1:] == [weights, weights]
    assert defaults.init_std == defaults.max_std == 1.0
    assert "at most 1: `max_std`" in told["standard deviation of the logits in attention"][-1]


def test_what_agents_observe_in_the_figures():
    """By the flags that the table names; and what they observe by default."""
    told = {row[0]: row[-1] for row in SECTIONS["Where paper and code differ"]}
    assert "`--memory rates --no-shows-cash`" in told["what the bank observes"]
    assert (BANK_LOANS.memory, BANK_LOANS.environment) == ("rates", {"shows_cash": False})
    assert "`--memory rates`" in told["what the dispatcher observes"]
    assert (ATTENTION.memory, ATTENTION.environment) == ("rates", {})
    assert (EPIDEMIC.memory, EPIDEMIC.environment) == ("", {})
    bank = fairgym.make("bank_loans").observation_space("bank")
    assert [f.name for f in (*bank.features, *bank.context)] == ["score", "group", "cash"]
    bank = fairgym.make("bank_loans", memory="rates", shows_cash=False).observation_space("bank")
    names = [f.name for f in bank.context]
    assert sum(name.startswith("rate_") for name in names) == 2
    assert sum(name.startswith("share_") for name in names) == 14 == len(names) - 2
    sites = fairgym.make("attention", memory="rates").observation_space("dispatcher")
    assert len(sites.features) == 4 * 8 and len(sites.context) == 5
    people = fairgym.make("epidemic").observation_space("clinic")
    assert [f.name for f in people.features][3:] == ["vaccinated", "group", "degree"]


def test_actions_in_evaluation():
    """Sampled in the figures, with a second table of the mode."""
    told = {row[0]: row[-1] for row in SECTIONS["Where paper and code differ"]}
    assert "mode in a second table" in told["actions in evaluation"]
    assert "most likely action (the mode)" in MODE_CAPTION


def test_all_learners_of_a_figure_have_the_same_number_of_steps():
    for name in ("fppo-fig1", "fppo-fig3", "fppo-fig4"):
        figure = experiments.get(name)()
        arguments = [
            tuple(config.algorithm_args[key] for key in ("epochs", "episodes_per_epoch"))
            for config in figure.grid(figure.size("paper")).values()
        ]
        assert len(set(arguments)) == 1
