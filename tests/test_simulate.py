"""`fairgym simulate`: the questions of an analyst, the table, the files, and what is refused."""

import csv
import functools
import json
import re
import shlex
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import fairgym
from fairgym.cli import main
from fairgym.cli.simulate import plan_of
from fairgym.policies import fixed_policies
from fairgym.results.numbers import Estimate, difference_text
from fairgym.training import devices, evaluate

ROOT = Path(__file__).parents[1]
LOAN = "simulate loan --population 60 --horizon 20 --episodes 5 --seed 3 --no-worlds"
HEALTH = "simulate health --population 200 --horizon 14 --episodes 4 --no-worlds"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Every test in an empty folder, with JAX as the tests have set it up."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(devices, "configure", lambda: None)
    return tmp_path


def told(capsys, words):
    """What the command prints, a line per entry, and what it says of its progress."""
    assert main(shlex.split(words)) == 0
    out, err = capsys.readouterr()
    ending = re.compile(r": compiling, then \d+ episodes \.\.\.$")
    assert all(ending.search(line) for line in err.splitlines())
    return out.splitlines(), [ending.sub("", line) for line in err.splitlines()]


def row(lines, label, after=""):
    """Cells of the first row with this label, below the row that begins with `after`."""
    cells = [[c.strip() for c in line.split("│")[1:-1]] for line in lines if "│" in line]
    start = next((i for i, found in enumerate(cells) if found[0].startswith(after)), 0)
    return next(found for found in cells[start:] if found[0] == label)


def numbers(text):
    """Numbers of a cell, in its order; signs as on a keyboard."""
    plain = text.replace("−", "-").replace(",", "")
    return [float(n) for n in re.findall(r"[-+]?\d+(?:\.\d+)?", plain)]


def test_what_does_20_percent_relief_change(capsys, here):
    words = f"{LOAN} --fix debt_management.relief=0.2 --csv numbers.csv"
    short, progress = told(capsys, words)
    assert progress == ["1 of 2: admit all no relief", "2 of 2: changed"]
    lines, _ = told(capsys, f"{words} --all")
    start = lines.index("") + 1
    assert lines[:start] == short[:start], "conclusions come first"
    assert len(short) <= 25 < len(lines) and short[-1] == "All measures and tables: --all."
    assert max(len(line) for line in lines if line[:1] in "│┏└┃") <= 100
    assert "--all" not in " ".join(lines)
    assert lines[start] == (
        "loan: 60 people, up to 20 months, 5 episodes of each scenario with the same people and"
        " random numbers; reference: admit all no relief."
    )
    for told_of in (short[-2], lines[-1]):
        assert told_of.startswith("The card of loan says: “Do not use it, its scores or policies")
    assert any(line.startswith("Changes of “changed”: debt management: relief") for line in short)
    assert lines[1] == "The bank goes bankrupt in 0 of 5 episodes with “changed” (reference: 1)."
    assert lines[start + 1].startswith("Failures cut episodes short: ")
    relief = [line for line in lines if "debt management: relief, disadvantaged" in line]
    assert len(relief) == 1 and re.search(r"│ 0 +│ 0\.2 +│", relief[0])
    # independent: two evaluations, and the t interval of their differences
    env = fairgym.make("loan", population=60, horizon=20)
    before, after = (
        evaluate(
            env,
            env.default_params,
            fixed_policies(
                env, {"admissions": 0.0, "debt_management": r, "disbursement": "random"}
            ),
            jax.random.key(3),
            5,
            ends=True,  # as the command asks
        )
        for r in (0.0, 0.2)
    )
    defaults = after.totals.defaulted.astype(float) - before.totals.defaulted
    label = "loans ended by default (loans)"
    for cells, change in (
        (row(lines, label), defaults.sum(axis=1)),
        (row(lines, "advantaged", label), defaults[:, 0]),
        (row(lines, "disadvantaged", label), defaults[:, 1]),
    ):
        half = 2.7764451 * change.std(ddof=1) / np.sqrt(5)
        expected = [change.mean(), change.mean() - half, change.mean() + half]
        assert numbers(cells[2]) == pytest.approx(expected, rel=0.01, abs=0.01)
        assert ("unclear" in cells[2]) == (expected[1] <= 0 <= expected[2])
    assert numbers(row(lines, label)[2])[2] < 0, "relief lowers defaults"
    # hardly a loan ends in so few months: rates are 0/0 in some episodes, which the table says
    unknown = int((~after.defined["default_rate"]).sum())
    assert unknown and before.defined["default_rate"].all(), "else the test does not see the mark"
    assert row(lines, "Default rate (%) ↓")[1].endswith("*")
    assert f"  Default rate (changed: {unknown})" in lines
    assert not row(lines, label)[1].endswith("*"), "a count is never 0/0"
    dollars = 1000.0 * (after.metrics["profit"].astype(float) - before.metrics["profit"])
    assert numbers(row(lines, "Profit (dollars) ↑")[2])[0] == pytest.approx(dollars.mean(), abs=1)
    rows = list(csv.DictReader((here / "numbers.csv").open()))
    (profit,) = [r for r in rows if r["measure"] == "profit" and r["policy"] == "changed"]
    assert profit["unit"] == "dollars" and profit["kind"] == "measure"
    assert float(profit["difference"]) == pytest.approx(dollars.mean(), rel=1e-5)
    assert float(profit["mean"]) - float(profit["reference_mean"]) == pytest.approx(
        float(profit["difference"]), rel=1e-6
    )
    assert {r["part"] for r in rows} == {"", *env.spec.groups}
    reference = [r for r in rows if r["policy"] == "admit all no relief"]
    changes = [r for r in rows if r["kind"] == "change"]
    assert len(reference) == (len(rows) - len(changes)) / 2 and len(changes) == 2
    assert {r["difference"] for r in reference} == {r["reference"] for r in reference} == {""}


def test_what_do_30_percent_more_beds_in_the_south_change(capsys):
    lines, _ = told(capsys, f"{HEALTH} --all --params beds_at_start.South=+30%")
    told_of = lines[lines.index("") + 1]
    assert told_of.startswith("health: 200 people, up to 14 months, 4 episodes of each scenario")
    assert "reference: premium half uniform planner." in told_of
    (beds,) = [line for line in lines if "beds at start, South" in line]
    assert re.search(r"│ 6 +│ 7\.8 +│ beds", beds)
    died = "people who died"
    assert numbers(row(lines, died)[2]), "of everybody"
    south, north = row(lines, "South", died), row(lines, "Northeast", died)
    assert numbers(south[2])[0] < 0 and north[2] == "no difference"
    for label in ("Insured rate (%) ↑", "Mortality rate (%) ↓"):
        assert row(lines, label)
    assert "points" in row(lines, "Mortality rate (%) ↓")[2]


def test_json_holds_the_same_numbers(capsys):
    words = f"{LOAN} --fix debt_management.relief=0.2 --params deposit_rate=+100% --json"
    lines, _ = told(capsys, words)
    found = json.loads("\n".join(lines))
    reference, changed = found["policies"]
    assert (reference["policy"], reference["reference"]) == ("admit all no relief", None)
    assert (changed["policy"], changed["reference"]) == ("changed", "admit all no relief")
    changes = [r for r in found["results"] if r["kind"] == "change"]
    assert len(changes) == 3 and {r["policy"] for r in changes} == {"changed"}
    assert changes[0] == {
        "policy": "changed",
        "reference": "admit all no relief",
        "kind": "change",
        "measure": "params",
        "title": "deposit rate",
        "unit": "per year",
        "old": pytest.approx(0.03),
        "new": pytest.approx(0.06),
    }
    settings = {"environment": "loan", "episodes": 5, "seed": 3, "params": ["deposit_rate=+100%"]}
    assert found["settings"].items() >= settings.items()
    assert found["settings"]["environment_args.population"] == 60
    assert changed["episodes"] == 5 and found["level"] == 0.95
    assert changed["same_people"] and changed["failed_episodes"] == 0
    keyed = [
        {
            (r["kind"], r["measure"], r["part"], r.get("against")): r
            for r in found["results"]
            if r["policy"] == one["policy"] and r["kind"] != "change"
        }
        for one in (reference, changed)
    ]
    assert list(keyed[0]) == list(keyed[1]) and "gap" in {kind for kind, *_ in keyed[0]}
    for before, after in zip(*(k.values() for k in keyed), strict=True):
        assert before["difference"] is before["clear"] is None
        known = before["undefined_episodes"] == after["undefined_episodes"] == 0
        if known:
            assert after["difference"] == pytest.approx(after["mean"] - before["mean"], abs=1e-4)
            assert after["difference_low"] <= after["difference"] <= after["difference_high"]
            assert after["reference_mean"] == before["mean"]


@pytest.mark.full
def test_nulls_are_told_with_natural_signs(capsys):
    lines, _ = told(capsys, f"{LOAN} --null --json --baseline thresholds_half_no_relief")
    rows = json.loads("\n".join(lines))["results"]
    nulls = [row for row in rows if row.get("null_mean") is not None]
    assert {row["measure"] for row in nulls} <= {
        row["measure"] for row in rows if row["better"] < 0
    }
    for row in nulls:
        assert 0 <= row["null_mean"] <= row["null_bound"]
        if not row["undefined_episodes"]:
            excess = row["mean"] - row["null_mean"]
            assert row["null_excess"] == pytest.approx(excess, rel=1e-4, abs=1e-6)
    gaps = [row for row in rows if row["kind"] == "gap"]
    assert gaps and all(0 < row["p"] <= 1 for row in gaps)


def test_without_changes_the_baselines_are_simulated(capsys):
    lines, progress = told(capsys, LOAN)
    names = ["admit all no relief", "thresholds half no relief", "published fixed policy"]
    assert progress == [f"{i} of 3: {name}" for i, name in enumerate(names, 1)]
    assert "reference" in lines[lines.index("") + 1]
    assert [line.split(":")[0] for line in lines if line.startswith("With “")] == [
        f"With “{name}”" for name in names[1:]
    ]
    assert len(lines) <= 25 and lines[-1] == "All measures and tables: --all."
    alone, progress = told(capsys, f"{LOAN} --baseline thresholds_half_no_relief")
    assert progress == ["1 of 1: thresholds half no relief"]
    assert re.fullmatch(r"The bank goes bankrupt in \d of 5 episodes\.", alone[0])
    assert alone[2] == "loan: 60 people, up to 20 months, 5 episodes; thresholds half no relief."
    assert not any("Changes of" in line for line in alone)
    assert len(numbers(row(alone, "Profit (dollars) ↑")[1])) == 3, "mean and limits"


def test_the_example_is_the_file_of_the_page_and_runs(capsys):
    file = ROOT / "examples" / "scenarios.yaml"
    assert f"```yaml\n{file.read_text()}```" in (ROOT / "docs" / "simulate.md").read_text()
    words = f"simulate --scenarios '{file}' --population 60 --horizon 20 --episodes 5 --seed 3"
    lines, progress = told(capsys, f"{words} --no-worlds --all")
    assert len(progress) == 4 and progress[0] == "1 of 4: admit all no relief"
    assert row(lines, "loans ended by default (loans)")[2].startswith("−")


def test_the_python_of_the_page_runs():
    """With fewer people, so that it takes no longer than it must."""
    text = (ROOT / "docs" / "simulate.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    small = '{"population": 1_000, "horizon": 100}'
    assert code.count(small) == 1 and code.count("episodes=8") == 1
    code = code.replace(small, '{"population": 60, "horizon": 20}')
    names: dict[str, Any] = {}
    exec(code.replace("episodes=8", "episodes=5"), names)
    assert names["low"] < names["mean"] < names["high"]


FILE = """
environment: loan
environment_args: {population: 60, horizon: 20}
episodes: 5
seed: 3
scenarios:
  today: {}
  relief:
    fixed: {debt_management.relief: 0.2}
  dearer deposits:
    params: {deposit_rate: +100%}
reference: today
"""


def test_scenarios_of_a_file_stand_side_by_side(capsys, here):
    (here / "s.yaml").write_text(FILE)
    lines, progress = told(capsys, "simulate --scenarios s.yaml --no-worlds --all")
    assert progress == ["1 of 3: today", "2 of 3: relief", "3 of 3: dearer deposits"]
    told_of = lines[lines.index("") + 1]
    assert told_of.endswith("reference: today (from the baseline admit all no relief).")
    by_flags, _ = told(capsys, f"{LOAN} --all --fix debt_management.relief=0.2")
    label = "loans ended by default (loans)"
    assert row(lines, label) == row(by_flags, label)
    heads = [line.strip() for line in lines if line.startswith("Results of")]
    assert heads == ["Results of “relief”", "Results of “dearer deposits”"]
    second = lines[next(i for i, line in enumerate(lines) if line.startswith(heads[1])) :]
    assert row(second, label)[:2] == row(lines, label)[:2]
    other, _ = told(capsys, "simulate --scenarios s.yaml --no-worlds --reference relief --json")
    policies = json.loads("\n".join(other))["policies"]
    assert [entry["reference"] for entry in policies] == [None, "relief", "relief"]


def test_names_in_the_table_are_no_formulas(capsys, here):
    """A spreadsheet would calculate what begins with =, +, - or @."""
    names = ["=1+1", "+30% deposits", "@today", "-", "plain = name"]
    scenarios = "".join(f"  '{name}': {{}}\n" for name in names)
    head = FILE.partition("scenarios:")[0]
    (here / "s.yaml").write_text(f"{head}scenarios:\n{scenarios}reference: '=1+1'\n")
    told(capsys, "simulate --scenarios s.yaml --no-worlds --csv table.csv")
    rows = list(csv.reader((here / "table.csv").open()))[1:]
    shown = ["'=1+1", "'+30% deposits", "'@today", "'-", "plain = name"]
    assert [row[0] for row in rows[: len(names)]] == shown
    assert {row[1] for row in rows} == {"", "'=1+1"}
    texts = [cell for row in rows for cell in row if not re.fullmatch(r"-?[\d.]+(e-?\d+)?", cell)]
    assert not [text for text in texts if text.startswith(("=", "+", "-", "@"))]
    assert any(cell.startswith("-") for row in rows for cell in row), "numbers stay numbers"


def test_flags_of_the_environment_apply_to_all_scenarios_of_a_file(here):
    (here / "s.yaml").write_text(FILE)
    plan, _ = plan_of("--scenarios s.yaml --population 30 --episodes 2 --seed 9".split())
    assert (plan.episodes, plan.seed) == (2, 9)
    assert [one.environment_args["population"] for one in plan.scenarios] == [30] * 3


def records(capsys, words):
    """The records of a command that prints JSON."""
    assert main(shlex.split(f"{words} --json")) == 0
    return json.loads(capsys.readouterr().out)["results"]


def test_every_what_if_is_run_in_rival_worlds_and_what_turns_around_comes_first(capsys):
    """With what is usual for their features people repay thanks to relief, in the data without."""
    words = LOAN.replace(" --no-worlds", "") + " --reform relief"
    assert main(shlex.split(words)) == 0
    out, err = capsys.readouterr()
    worlds = [line for line in err.splitlines() if "in the world" in line]
    assert [line.split(":")[0] for line in worlds] == ["1 of 2", "2 of 2"] * 2
    note = [line for line in out.splitlines() if line.startswith("In the rival worlds defaults")]
    assert len(note) == 1 and "--no-worlds leaves them out" in note[0]
    found = records(capsys, words)
    here = {
        (r["measure"], r["part"]): r
        for r in found
        if r["kind"] in ("measure", "rate") and r["reference"]
    }
    there = [r for r in found if r["kind"] == "world"]
    assert {r["world"] for r in there} == {"defaults_as_in_data", "relief_postponed"}
    assert len(there) == 2 * len(here)
    for one in there:
        own = here[one["measure"], one["part"]]
        assert one["difference_here"] == own["difference"]
        turned = bool(own["clear"] and one["clear"]) and own["difference"] * one["difference"] < 0
        assert one["overturned"] == turned
    turned = {r["about"]: r for r in reversed(there) if r["overturned"] and not r["part"]}
    first = [line for line in out.splitlines() if "has the opposite effect: " in line]
    assert len(first) == len(turned) > 0 and out.startswith("If ")
    for line in first:
        about = line.partition(", “")[0].removeprefix("If ")
        assert line.partition("effect: ")[2].startswith(turned[about]["title"].lower())
        assert " instead of " in line


def test_a_world_holds_for_both_sides_and_replaces_its_rivals(capsys):
    lines, _ = told(capsys, f"{LOAN} --reform relief --world residual_share=0.75")
    assert "In the world residual_share=0.75: residual share is 0.75." in lines
    found = records(capsys, f"{LOAN} --reform relief --world residual_share=0.75")
    by_name = records(capsys, f"{LOAN} --reform relief --world defaults_as_in_data")
    assert found == by_name and not [r for r in found if r["kind"] == "world"]
    (plain,) = [
        r
        for r in records(capsys, f"{LOAN} --reform relief")
        if r["measure"] == "profit" and r["reference"]
    ]
    (other,) = [r for r in found if r["measure"] == "profit" and r["reference"]]
    assert other["reference_mean"] != plain["reference_mean"]


def test_reform_against_reform(capsys):
    words = f"{LOAN} --reform relief --reform 'relief_disadvantaged from 5' --reference relief"
    lines, progress = told(capsys, words)
    assert progress == [
        "1 of 3: admit all no relief",
        "2 of 3: 20% relief for everybody",
        "3 of 3: 20% relief for the disadvantaged from 5",
    ]
    assert "reference: 20% relief for everybody (from the baseline" in " ".join(lines)
    changed = [line for line in lines if "disadvantaged 0.2 from month 5" in line]
    assert changed and changed[0].startswith("Changes of “20% relief for the disadvantaged from 5”")


def test_a_schedule_by_flags_is_that_of_a_file(capsys, here):
    flags = records(capsys, f"{LOAN} --fix 'debt_management.relief=0.2 from month 5 until 15'")
    (here / "s.yaml").write_text(
        "environment: loan\nenvironment_args: {population: 60, horizon: 20}\n"
        "scenarios:\n  changed:\n    fixed: {debt_management.relief: 0.2 from 5 until 15}\n"
    )
    file = "simulate --scenarios s.yaml --episodes 5 --seed 3 --no-worlds"
    assert records(capsys, file)[:-1] == flags[:-1]
    (change,) = [r for r in flags if r["kind"] == "change"]
    assert (change["old"], change["new"]) == ("0, 0", "relief 0.2 from month 5 until month 15")
    ends = [r["difference"] for r in flags if r["measure"] == "defaulted" and r["reference"]]
    assert ends[0] < 0 and sum(ends[1:]) == pytest.approx(ends[0]), "groups sum to all"


def test_a_file_names_reforms_and_a_world(here):
    (here / "s.yaml").write_text(
        "environment: loan\nworld: relief_postponed\n"
        "scenarios: {both: {reforms: [relief, first_come]}}\n"
    )
    plan, _ = plan_of(["--scenarios", "s.yaml", "--population", "60"])
    assert plan.world == "relief_postponed" and plan.scenarios[1].reforms == (
        "relief",
        "first_come",
    )
    built = plan.scenarios[1].build("loan")
    assert built.specification["disbursement"] == "first-come"
    assert built.specification["debt_management"] == [0.2, 0.2]


def test_the_gap_is_divided_into_parts_that_sum_to_it(capsys):
    words = "simulate pairs --import pairs --episodes 2 --baseline uneven --decompose score"
    lines, _ = told(capsys, words)
    assert "The gap in score with “uneven”" in " ".join(lines)
    parts = [r for r in records(capsys, words) if r["kind"] == "decomposition"]
    assert [r["component"] for r in parts][:4] == ["neither", "decision", "start", "dynamics"]
    assert parts[-1]["component"] == "gap" and parts[-1]["mean"] == pytest.approx(1.8)
    assert sum(r["mean"] for r in parts[:-1]) == pytest.approx(1.8)
    assert {(r["part"], r["against"], r["unit"]) for r in parts} == {("first", "second", "points")}


def test_sensitivity_says_what_decides_a_difference_and_where_it_turns(capsys, monkeypatch):
    from fairgym.cli import simulate as command
    from fairgym.training import sensitivity as module

    for name, value in (("BASE", 4), ("EPISODES", 2), ("POINTS", 3)):
        monkeypatch.setattr(module, name, value)
    small = functools.partial(module.sensitivity, base=4, episodes=2, points=3)
    monkeypatch.setattr(command, "sensitivity", small)
    words = (
        "simulate lending_pool --horizon 8 --episodes 3 --no-worlds --reform head_start"
        " --sensitivity"
    )
    lines, _ = told(capsys, words)
    assert any(line.strip().startswith("What decides the effect of “group A") for line in lines)
    found = records(capsys, words)
    rows = [r for r in found if r["kind"] == "sensitivity" and r["measure"] == "profit"]
    factors = ["application", "start_a", "start_b", "credit_change", "chance"]
    assert [r["factor"] for r in rows] == factors
    assert all(0 <= r["total"] for r in rows) and rows[-1]["factor_low"] is None
    points = [r for r in found if r["kind"] == "range" and r["measure"] == "profit"]
    assert [r["factor_value"] for r in points[:3]] == pytest.approx([0.5, 0.75, 1.0])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "loan --params 'bias_strength=1 from 5'",
            "bias_strength must hold in all steps: it is used",
        ),
        ("loan --fix 'admissions=0 from 5 until 3'", "until must be after step 5, got 3"),
        ("loan --fix 'admissions=0 from soon'", "admissions must be VALUE .*, got '0 from soon'"),
        ("loan --fix 'admissions=0 from 900'", "admissions must change within the 400 months"),
        ("loan --reform 'relief soon'", "reform must be NAME, or NAME from .*, got 'relief soon'"),
    ],
)
def test_times_that_cannot_be_are_refused_before_anything_runs(words, message, capsys):
    assert main(shlex.split(f"simulate {words}")) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and re.search(message, err), err


def test_what_every_system_declares_is_listed(capsys):
    lines, _ = told(capsys, "simulate --list")
    text = " ".join(lines)
    for name in ("relief", "beds_south", "universal_coverage", "full_scholarships", "masks"):
        assert name in text
    found = records(capsys, "simulate loan --list")
    assert {r["kind"] for r in found} == {"reform", "world", "uncertain"}
    assert {r["environment"] for r in found} == {"loan"}
    (world,) = [r for r in found if r["changes"] == "residual_share=0.75"]
    assert world["about"] == "people default as often as in the data"


@pytest.mark.full
@pytest.mark.parametrize(
    ("words", "title", "sign"),
    [
        ("loan --reform relief --horizon 100", "Default rate", -1),
        ("health --reform beds_south", "Mortality rate", -1),
        ("education --reform full_scholarships", "Graduation rate", 1),
    ],
)
def test_ready_made_reforms_have_the_signs_of_figure_6_of_mafe(words, title, sign, capsys):
    found = records(capsys, f"simulate {words} --population 300 --episodes 8 --no-worlds")
    (row,) = [r for r in found if r["title"] == title and not r["part"] and r["reference"]]
    assert sign * row["difference"] > 0 and row["clear"]


def test_differences_in_words():
    assert difference_text(Estimate(1.2e6, 1.05e6, 1.36e6), "dollars") == (
        "+1.20 million [+1.05, +1.36]"
    )
    assert difference_text(Estimate(-0.012, -0.015, -0.009), "share") == (
        "−1.20 points [−1.50, −0.90]"
    )
    assert difference_text(Estimate(3.0, -1.0, 7.0), "people") == ("+3.00 [−1.00, +7.00], unclear")
    assert difference_text(Estimate(0.0, 0.0, 0.0), "people") == "no difference"
    assert difference_text(Estimate(3.0, np.nan, np.nan), "people") == "+3.00"
    assert difference_text(Estimate(np.nan, np.nan, np.nan), "share") == "undefined"


BAD = [
    ("simulate", "environment is not given; give its name right after simulate, or a file"),
    ("simulate nope", "unknown environment 'nope'"),
    ("simulate loan --fix x", "fix must be AGENT.*got 'x'"),
    ("simulate loan --fix admissions=", "fix must be AGENT.*got 'admissions='"),
    ("simulate loan --params 3", "params must be NAME.*got '3'"),
    (
        "simulate loan --fix admissions=0 --fix admissions=1",
        "fix must have each name once, got admissions twice",
    ),
    (
        "simulate loan --fix admissions=0 --fix Admissions=1",
        "fix must have each name once, got Admissions twice",
    ),
    ("simulate loan --fix bank=0", "unknown agent 'bank'"),
    ("simulate loan --fix admissions.cut=0", "unknown element 'cut' of 'admissions'"),
    ("simulate loan --fix admissions=high", "must be 'random', .*, got 'high'"),
    ("simulate loan --fix admissions=2", "must be 2 numbers"),
    ("simulate loan --fix admissions=nope_nope:rule", "nope_nope"),
    ("simulate loan --params rate=0", "unknown parameter 'rate'"),
    ("simulate loan --params deposit_rate=high", "deposit_rate must be.*got 'high'"),
    ("simulate loan --params deposit_rate=-3", "deposit_rate must be a number from 0 .*, got -3"),
    (
        "simulate health --params beds_at_start.Moon=3",
        "'changed': unknown region 'Moon' of beds_at_start; there are: Northeast",
    ),
    ("simulate loan --params deposit_rate.advantaged=0", "deposit_rate is one number for all"),
    ("simulate loan --baseline nope", "unknown baseline 'nope'; there are: admit_all"),
    ("simulate loan --reference nope", "unknown reference 'nope'; there are: admit all no relief"),
    ("simulate loan --episodes 0", "episodes must be a whole number from 1.*got 0"),
    ("simulate loan --episodes few", "episodes must be a whole number.*got 'few'"),
    ("simulate loan --seed -1", "seed must be a whole number from 0.*got -1"),
    ("simulate loan --population 1", "population must be a whole number from 2.*got 1"),
    ("simulate loan --fx admissions=0", "unknown flag '--fx'; did you mean '--fix'"),
    ("simulate loan --csv", "--csv needs a value"),
    ("simulate loan --csv nowhere/to/x.csv --horizon 0", "horizon must be .*, got 0"),
    ("simulate loan --csv .", "csv must be a file that ends in .csv or .parquet.*got '.'"),
    ("simulate loan --csv /proc/x.csv", "cannot be written"),
    ("simulate loan --reform nope", "unknown reform 'nope'; there are: relief"),
    ("simulate loan --reform relief --reform relief", "two scenarios are named '20% relief"),
    ("simulate loan --world nope --fix admissions=0", "unknown world 'nope'; there are:"),
    ("simulate loan --world residual_share=2", "residual_share must be a number from 0 to 1"),
    ("simulate loan --world=", "world must be a text, got ''"),
    ("simulate loan --decompose profit", "unknown measure to decompose 'profit'; there"),
    ("simulate attention --decompose discovery_rate", "attention cannot be decomposed: it has no"),
    ("simulate loan --baseline random --sensitivity", "sensitivity needs a difference"),
    ("simulate loan --out page.txt", "out must be a file that ends in .html, got 'page.txt'"),
    ("simulate loan --out /proc/x.html", "cannot be written"),
    ("simulate loan --baseline random --out x.html", "out needs a difference to show; give a"),
    ("simulate nope --list", "unknown environment 'nope'"),
    ("simulate loan --list --fix x", "unknown flag '--fix'"),
    ("simulate --scenarios nope.yaml", "nope.yaml cannot be read: No such file"),
    ("simulate loan --scenarios nope.txt", "must end in .yaml, .*, got '.txt'"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=lambda x: x[:60])
def test_bad_input_is_one_sentence_before_anything_runs(words, message, capsys, here):
    assert main(words.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1 and err.startswith("fairgym: "), err
    assert re.search(message, err)
    assert not list(here.iterdir()), "nothing is written"


@pytest.mark.parametrize(
    "flag",
    ["--fix admissions=0", "--params deposit_rate=0", "--baseline random", "--reform relief"],
)
def test_changes_beside_a_file_are_refused(flag, capsys, here):
    (here / "s.yaml").write_text(FILE)
    assert main(f"simulate --scenarios s.yaml {flag}".split()) == 2
    assert "cannot be combined with --scenarios" in capsys.readouterr().err


def test_the_help_names_every_flag(capsys):
    assert main(["simulate", "health", "--help"]) == 0
    text = capsys.readouterr().out
    for name in ("--fix", "--params", "--scenarios", "--reference", "--csv", "--population-size"):
        assert name in text
    words = " ".join(text.replace("│", " ").split())
    assert "hospital_infrastructure_GROUP" in words and "beds_at_start (per region)" in words
    assert main(["simulate", "--help"]) == 0
