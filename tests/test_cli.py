"""The command line through its entry point: exit codes, one-sentence errors, nothing written."""

import dataclasses
import importlib
import json
import math
import re
import shutil
import subprocess
import sys

import jax
import numpy as np
import pytest
from scipy import stats

from fairgym.algorithms.fair_qcm import FairQcm
from fairgym.cli import COMMANDS, main, verdicts
from fairgym.cli import train as train_module
from fairgym.cli.parsing import peek
from fairgym.cli.train import plan_of
from fairgym.config import RunConfig
from fairgym.config.settings import fields_of
from fairgym.core import FairgymError
from fairgym.policies import Constant, fixed_policies
from fairgym.results.labels import metric_label
from fairgym.results.numbers import Estimate, difference_text, interval, number_told
from fairgym.results.quantities import Quantity
from fairgym.results.rows import Row
from fairgym.statistics.permuting import compared_by_group
from fairgym.training import devices, evaluate, load
from fairgym.training.comparison import compare
from fairgym.training.evaluation import ENOUGH
from fairgym.training.folder import run_folders
from fairgym.utils import make
from fairgym.utils.registry import environments

# In every test the same shapes and numbers of episodes: one program serves them all.
SMALL = "--population-size 60 --horizon 20 --epochs 2 --episodes-per-epoch 8".split()
SMALL += "--evaluation-episodes 2 --hidden 8".split()


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Run every test in an empty folder, without changing the set-up of JAX."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(devices, "configure", lambda: None)
    return tmp_path


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small run, trained by the command."""
    out = tmp_path_factory.mktemp("cli") / "x"
    assert main(["train", "loan", *SMALL, "--out", str(out)]) == 0
    return out


# ------------------------------------------------------------------ what is wrong

TRAIN = [
    ("train", "environment is not given; give its name right after train"),
    ("train --seed 3 loan", "environment is not given"),
    ("train nope", "unknown environment 'nope'; there are: .*loan"),
    (
        "train loan --algorithm nope",
        "unknown algorithm 'nope'; there are: .*f-macem, .*grid-search",
    ),
    ("train loan extra", "unknown argument 'extra'"),
    ("train loan --epocs 3", "unknown flag '--epocs'; did you mean '--epochs'"),
    (
        "train loan --params.deposit 3",
        "unknown flag '--params.deposit'; did you mean '--params.dep",
    ),
    ("train loan --epochs", "--epochs needs a value"),
    ("train loan --epochs --seed 3", "--epochs needs a value"),
    ("train loan --params.deposit-rate", "--params.deposit-rate needs a value"),
    ("train loan --population --epochs=3", "--population needs a value"),
    ("train loan --fix --pooled", "--fix needs a value"),
    ("train loan --elite_share --no-pooled", "--elite-share needs a value"),
    ("train loan --out --help", "--out needs a value"),
    ("train loan --epochs --fast", "--epochs needs a value"),
    (
        "train loan --resume=yes",
        "--resume/--no-resume takes no value, got 'yes'",
    ),
    ("train loan --observe-group=true", "--no-observe-group takes no value, got 'true'"),
    ("simulate loan --observe-group true", "unknown argument 'true'"),
    ("train loan --no-pooled=1", "--no-pooled takes no value, got '1'"),
    ("train loan --pooled yes", "unknown argument 'yes'"),
    ("train loan --seed=", "seed must be a whole number.*got ''"),
    ("train loan --epochs abc", "epochs must be a whole number.*got 'abc'"),
    ("train loan --epochs 2.5", "epochs must be a whole number.*got '2.5'"),
    ("train loan --epochs 0", "epochs must be a whole number from 1.*got 0"),
    ("train loan --elite-share nan", "elite_share must be a number from 0 to 1.*got nan"),
    ("train loan --params.deposit-rate -0.5", "deposit_rate must be a number from 0.*got -0.5"),
    ("train loan --params.deposit-rate low", "deposit_rate must be a number.*got 'low'"),
    (
        "train loan --population-size 10 --applicants 11",
        "applicants must be .* from 1 to 10, got 11",
    ),
    ("train loan --population-size 1", "population must be a whole number from 2.*got 1"),
    ("train loan --population-source nope", "unknown source 'nope'"),
    ("train loan --objective nope", "unknown objective 'nope'; there are: uniform, direct"),
    ("train loan --objective frontier:2", "unknown objective 'frontier:2'; there are: uniform"),
    (
        "train loan --agent-objective bank=direct",
        "objectives has 'bank', which is not a trained agent; .*admissions",
    ),
    (
        "train loan --agent-objective admissions=nope",
        "objective of 'admissions': .*'nope'; .*direct",
    ),
    ("train loan --agent-objective admissions", "agent-objective must be AGENT=.*got 'admissions'"),
    ("train loan --bound gap=0.1", "unknown metric 'gap'; there are: profit"),
    (
        "train loan --fix admissions=0 --fix admissions=1",
        "fix must have each name once, got admissions twice",
    ),
    (
        "train loan --bound wait_disparity=1 --bound wait_disparity=2",
        "bound must have each name once, got wait_disparity twice",
    ),
    ("train loan --bound profit=1", "bound must be on a disparity"),
    ("train loan --bound wait_disparity=-1", "'wait_disparity' must be 0 or more, got -1.0"),
    (
        "train loan --bound wait_disparity=low",
        "bound of 'wait_disparity' must be a number from 0, got 'low'",
    ),
    ("train loan --fix bank=0", "unknown agent 'bank'; loan has the agents: admissions"),
    ("train loan --fix admissions=high", "'admissions' must be 'random'.*got 'high'"),
    ("train loan --fix admissions=1,2,3", "'admissions': .* must be one number, or 2 numbers"),
    ("train loan --fix admissions=2", "'admissions': .* must be 2 numbers.*, got 2.0"),
    ("train loan --fix admissions=0 --fix disbursement=random --fix debt_management=0", "fixed co"),
    ("train loan --seed -1", "seed must be a whole number from 0.*got -1"),
    ("train loan --seed 1 --seeds 0:3", "seed and seeds are both given"),
    ("train loan --seeds 3:0", "seeds must be START:STOP.*got '3:0'"),
    ("train loan --seeds 1,1", "seeds must be .* each seed once, .*, got '1,1'"),
    ("train loan --resume --overwrite --out x", "resume and overwrite cannot both be set"),
    (
        "train loan --resume --out typo",
        "typo holds no run to resume; give the folder of one",
    ),
    ("train --resume --out typo", "typo holds no run to resume"),
    ("train loan --resume --seeds 0:3 --out typo", "typo holds no run to resume"),
    ("train loan --config nope.yaml", "nope.yaml cannot be read: No such file"),
    ("train loan --algorithm grid-search --steps 1", "steps must be a whole number from 2.*got 1"),
    ("train loan --algorithm grid-search --epochs 3", "unknown flag '--epochs'"),
]
OTHERS = [
    ("nope", "unknown command 'nope'; there are: train, evaluate"),
    ("evaluate", "no run folder is given"),
    ("evaluate nope", "nope is not a folder; give the folder of a run"),
    ("evaluate .", r"\. has no config\.json"),
    ("evaluate . --episodes 0", "episodes must be a whole number from 1.*got 0"),
    ("evaluate . --episodes few", "episodes must be a whole number.*got 'few'"),
    ("evaluate . --json --episodes", "--episodes needs a value"),
    ("evaluate . --jsn", "unknown flag '--jsn'; did you mean '--json'"),
    ("train loan --workers 2", "workers must be 1 unless --seeds is given.*got 2"),
    ("train loan --seeds 0:2 --workers 0", "workers must be a whole number from 1 to 256, got 0"),
    ("reproduce mafe-fig5 --workers few", "workers must be a whole number.*got 'few'"),
    ("reproduce mafe-fig5 --workers 0", "workers must be a whole number from 1 to 256, got 0"),
    ("report", "no run folder is given"),
    ("report nope", "nope is not a folder"),
    ("bench", "no environment is given; there are: .*loan"),
    ("bench loan --populations few", "populations must be a list.*got 'few'"),
    ("data nope", "unknown action 'nope'; data takes: describe, import"),
    ("data describe", "no population is given; there are: .*loan"),
    ("data describe nope", "nope"),
    ("data describe loan --source nope", "unknown source 'nope'"),
    ("data import", "source is not given; there are: .*lending-club"),
    ("data import nope x", "unknown source 'nope'; data import takes: .*lending-club"),
    ("data import lending-club", "data import lending-club needs one file, got 0"),
    ("data import lending-club nope.csv", "nope.csv is not a file"),
    ("demo --epochs few", "epochs must be a whole number.*got 'few'"),
    ("demo --epochs 0", "epochs must be a whole number from 1.*got 0"),
    ("list nope", "unknown argument 'nope'"),
    ("version nope", "unknown argument 'nope'"),
    ("list --import", "--import needs a value, the name of a module"),
    ("--import --help list", "--import needs a value"),
    ("list --import=", "--import needs a value"),
    ("list --import plug_none", "there is no module 'plug_none' in the Python path or in the cur"),
    (
        "train loan --import plug-none",
        "the name of a module must be a Python name, .*, got 'plug-none'",
    ),
    (
        "--import plug_none.py report x",
        "got 'plug_none.py'; did you mean 'plug_none'",
    ),
    ("evaluate x --imprt plug", "unknown flag '--imprt'; did you mean '--import'"),
    ("nope --import plug_none", "unknown command 'nope'"),
]


HINTS = [
    ("train lone", "unknown environment 'lone'; did you mean 'loan'?"),
    ("evalute", "unknown command 'evalute'; did you mean 'evaluate'?"),
    ("sweep tabel x.toml", "unknown action 'tabel'; did you mean 'table'?"),
    ("train loan --algorithm f-mapo", "unknown algorithm 'f-mapo'; did you mean 'f-mappo'?"),
    ("train loan --fix admisions=0", "unknown agent 'admisions'; did you mean 'admissions'?"),
    (
        "train loan --fix relief=0.2",
        "unknown agent 'relief'; did you mean 'debt_management.relief'?",
    ),
    (
        "simulate health --fix beds=+10%",
        "unknown agent 'beds'; did you mean the parameter 'beds_at_start' or 'beds_by_people'?",
    ),
    (
        "simulate loan --params relief=20%",
        "unknown parameter 'relief'; did you mean the decision 'debt_management.relief'?",
    ),
    ("data describe lone", "unknown population 'lone'; did you mean 'loan'?"),
    ("train loan --objective dirct", "unknown objective 'dirct'; did you mean 'direct'?"),
    ("train loan --objective profits=1", "unknown metric 'profits' .*; did you mean 'profit'?"),
    ("train loan --bound waitdisparity=1", "unknown metric .*; did you mean 'wait_disparity'?"),
    (
        "train loan --learning-rate 0.1",
        "unknown flag '--learning-rate': f-macem does not have it; these algorithms do: a-ppo, ",
    ),
    ("simulate loan --baseline randm", "unknown baseline 'randm'; did you mean 'random'?"),
]


@pytest.mark.parametrize(("words", "message"), HINTS)
def test_messages_lead_on(words, message, capsys, here):
    assert main(words.split()) == 2
    assert re.search(message.replace("?", "[?]"), capsys.readouterr().err)


def test_percentages_are_numbers(here):
    words = "loan --elite-share 25% --params.deposit-rate 2% --bound wait_disparity=5%"
    given = plan_of([*words.split(), "--fix", "debt_management.relief=20%"]).config
    assert given.algorithm_args["elite_share"] == 0.25 and given.params == {"deposit_rate": 0.02}
    assert given.bounds == {"wait_disparity": 0.05}
    assert given.fixed == {"debt_management": pytest.approx([0.2, 0.2])}
    (here / "a.yaml").write_text(
        "environment: loan\nelite_share: 25%\ndeposit_rate: 2%\nbounds: {wait_disparity: 5%}\n"
        "fixed: {debt_management: {relief: 20%}}\n"
    )
    filed = plan_of(["--config", "a.yaml"]).config
    same = ("params", "bounds", "algorithm_args")
    assert all(getattr(filed, name) == getattr(given, name) for name in same)
    policy = filed.build().fixed["debt_management"]
    assert isinstance(policy, Constant) and policy.action.tolist() == pytest.approx([0.2, 0.2])


def test_weights_as_text_do_in_files(here):
    (here / "a.toml").write_text(
        'environment = "loan"\nobjective = "profit=1,wait_disparity=50%"\n'
    )
    config = plan_of(["--config", "a.toml"]).config
    assert config.objective == {"profit": 1.0, "wait_disparity": 0.5}


@pytest.mark.parametrize(("words", "message"), TRAIN + OTHERS, ids=lambda x: x[:60])
def test_bad_input_is_one_sentence(words, message, capsys, here):
    assert main(words.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1 and err.startswith("fairgym: ")
    assert re.search(message, err)
    assert not list(here.iterdir()), "nothing is written"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.yaml", "epocs: 3\n", "unknown key 'epocs'; did you mean 'epochs'"),
        (
            "a.yaml",
            "fixed: {admissions: ['0.5', '0.5']}\n",
            "'admissions' must be 'random', .*, got .'0.5', '0.5'.",
        ),
        ("a.json", '{"epochs": "40"}', "epochs must be a whole number.*got '40'"),
        ("a.toml", "[params]\ndeposit_rate = -1\n", "deposit_rate must be a number.*got -1.0"),
        ("a.yaml", "a: [", "a.yaml is not valid YAML"),
        ("a.yaml", "seeds: x", "seeds must be START:STOP.*got 'x'"),
    ],
)
def test_bad_files_are_one_sentence(name, content, message, capsys, here):
    (here / name).write_text(content)
    assert main(["train", "loan", "--config", name]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and re.search(message, err)
    assert [p.name for p in here.iterdir()] == [name]


@pytest.mark.full
def test_the_folders_of_others_are_safe(run, capsys, here):
    before = {p: p.read_bytes() for p in run.rglob("*") if p.is_file()}
    (here / "mine").mkdir()
    (here / "mine" / "notes.txt").write_text("mine")
    for words, message in (
        (["loan", *SMALL, "--out", str(run)], "already holds a run"),
        (["loan", *SMALL, "--epochs", "1", "--resume", "--out", str(run)], "epochs is 1, but the"),
        (["loan", *SMALL, "--seeds", "0:2", "--out", str(run)], "is itself the folder of a run"),
        (["loan", *SMALL, "--overwrite", "--out", "mine"], "is not a fairgym run"),
        (["loan", *SMALL, "--out", "mine/notes.txt"], "is not a fairgym run"),
        (["loan", *SMALL, "--out", "/proc/x"], "/proc/x cannot be written"),
    ):
        assert main(["train", *words]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1 and message in err
    assert before == {p: p.read_bytes() for p in run.rglob("*") if p.is_file()}
    assert (here / "mine" / "notes.txt").read_text() == "mine"


# ------------------------------------------------------------------ what is right


@pytest.fixture
def plugged(here, monkeypatch):
    """A custom module in the current folder, removed after the test."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (here / "plug_cli.py").write_text(
        '"""A village.\n\nWith more to say."""\n'
        "import dataclasses, fairgym\nfrom fairgym.core import param\nfrom toys import Toy\n"
        "@fairgym.register_environment('plug-village')\n@dataclasses.dataclass(frozen=True)\n"
        "class Village(Toy):\n"
        '    """People in a village."""\n'
        "    wells: int = param(3, 'Number of wells.', low=1)\n    dry: bool = False\n"
    )
    yield "plug_cli"
    sys.modules.pop("plug_cli", None)
    environments._things.pop("plug-village", None)
    environments._registered_by.pop("plug-village", None)


@pytest.mark.parametrize(
    "words",
    [
        "--import plug_cli list",
        "list --import plug_cli",
        "--import=plug_cli list",
        "list --import json --import=plug_cli",
    ],
)
def test_a_module_is_imported_first(words, plugged, capsys):
    """The flag may come before or after the command, once or several times."""
    assert main(words.split()) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(re.fullmatch(r"  plug-village +A village\. \[plug_cli\]", line) for line in lines)
    (loan,) = [line for line in lines if line.startswith("  loan ")]
    assert "[" not in loan


def test_the_help_shows_several_numbers_as_the_flag_takes_them(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "300")
    assert main("train doughnut --algorithm fair-qcm --help".split()) == 0
    out = capsys.readouterr().out
    (shown,) = re.findall(r"--hidden VALUE .*\(default: (.*?)\)", out)
    given = plan_of(["doughnut", "--algorithm", "fair-qcm", "--hidden", shown]).config
    assert given.algorithm_args["hidden"] == FairQcm().hidden


def test_settings_of_an_imported_environment_are_flags_and_keys(plugged, here, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["train", "plug-village", "--import", plugged, "--help-params"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"--wells INT +Number of wells. \[at least 1\] \(default: 3\)", out)
    assert re.search(r"--\[no-\]dry +\(default: no\)", out), "a plain field has no help"
    assert plan_of(["plug-village", "--dry"]).config.environment_args["dry"] is True
    assert "--params.luck" in out and "--import MODULE" in out
    assert plan_of(["plug-village", "--wells", "4"]).config.environment_args["wells"] == 4
    for word in (plugged, "plug-village"):
        sys.modules.pop(word, None)
        environments._things.pop(word, None)
    (here / "a.yaml").write_text("environment: plug-village\nwells: 5\nimports: [plug_cli]\n")
    assert plan_of(["--config", "a.yaml"]).config.environment_args["wells"] == 5
    (here / "a.yaml").write_text("environment: plug-village\nimports: plug_cli\n")
    with pytest.raises(
        FairgymError, match="imports must be a list of module names, got 'plug_cli'"
    ):
        plan_of(["--config", "a.yaml"])


def test_every_help_tells_of_imports(capsys):
    for command in COMMANDS:
        assert main([command, "--help"]) == 0
        assert "--import MODULE" in capsys.readouterr().out, command
    assert main(["--help"]) == 0
    assert "--import MODULE" in capsys.readouterr().out


def test_flags_over_file_over_defaults(here):
    (here / "a.yaml").write_text(
        "environment: loan\nepochs: 3\nhorizon: 50\nparams: {deposit_rate: 0.02}\n"
        "algorithm_args: {smoothing: 0.5}\nfixed: {admissions: 0.1}\nseed: 4\nout: there\n"
    )
    plan = plan_of("--config a.yaml --epochs 7 --params.fico-change 50".split())
    config = plan.config
    assert config.algorithm_args["epochs"] == 7 and config.algorithm_args["smoothing"] == 0.5
    assert config.algorithm_args["elite_share"] == 0.2
    assert config.environment_args["horizon"] == 50
    assert config.params == {"deposit_rate": 0.02, "fico_change": 50.0}
    assert config.fixed == {"admissions": 0.1} and config.seed == 4
    assert str(plan.out) == "there"
    over = plan_of("loan --config a.yaml --fix admissions=0,0 --seed 5 --out x".split())
    assert over.config.fixed == {"admissions": [0.0, 0.0]} and over.config.seed == 5
    assert str(over.out) == "x"


@pytest.mark.parametrize(
    ("words", "agent", "expected"),
    [
        ("--fix debt_management.advantaged=0.3", "debt_management", [0.3, 0.18]),
        ("--fix debt_management.relief=+50%", "debt_management", [0.18, 0.27]),
        ("--fix Admissions.threshold=0.5", "admissions", [0.5, 0.5]),
        ("--fix admissions=0.1 --fix admissions.disadvantaged=0.3", "admissions", [0.1, 0.3]),
        ("--fix disbursement.priority=0.5", "disbursement", 0.5),
        ("--fix disbursement=my_rules:oldest", "disbursement", "my_rules:oldest"),
    ],
)
def test_elements_are_fixed_by_name_over_the_file(here, words, agent, expected):
    (here / "a.yaml").write_text(
        "environment: loan\npopulation: 60\nfixed:\n"
        "  debt_management: {advantaged: 0.12, disadvantaged: 0.18}\n"
    )
    fixed = plan_of(f"loan --config a.yaml {words}".split()).config.fixed
    assert fixed[agent] == (expected if isinstance(expected, str) else pytest.approx(expected))
    if agent != "debt_management":
        assert fixed["debt_management"] == {"advantaged": 0.12, "disadvantaged": 0.18}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--fix planner.Suoth=0.4", "unknown element 'Suoth' of 'planner'; did you mean 'South'"),
        ("--fix planner.South=+30%", "must be a number, since there is none to change, got"),
        ("--fix planner=random --fix planner.South=1", "is 'random', which has no elements"),
        ("--fix planner.South", "fix must be AGENT.*=POLICY, got 'planner.South'"),
        ("--fix boss=1", "unknown agent 'boss'; health has the agents: insurer, hospital, planner"),
        ("--fix insurer=nowhere_at_all:rule", "there is no module 'nowhere_at_all'"),
        (
            "--fix insurer=0.5 --fix hospital=random --fix planner.South=0.4",
            "fixed covers every agent; leave at least one of insurer, hospital, planner to train"
            " .fairgym simulate runs fixed policies without training",
        ),
        (
            "--params.beds-at-start Suoth=1",
            "unknown region 'Suoth' of beds_at_start; did you mean 'South'",
        ),
        (
            "--params.beds-at-start 1,2",
            "beds_at_start must be one number, or one .*, got 2 numbers",
        ),
        ("--params.max-premium South=1", "max_premium must be a number, got 'South=1'"),
    ],
)
def test_what_cannot_be_fixed_or_set(here, words, message, capsys):
    assert main(["train", "health", "--population", "60", "--out", "x", *words.split()]) == 2
    err = capsys.readouterr().err
    assert re.search(message, err) and err.count("\n") == 1
    assert not (here / "x").exists()


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("South=+30%,West=200", {"South": "+30%", "West": 200.0}),
        ("1,2,3,4", (1.0, 2.0, 3.0, 4.0)),
        ("-10%", "-10%"),
        ("390", 390.0),
    ],
)
def test_parameters_per_region_are_flags(text, given):
    words = ["health", "--population", "1000", "--params.beds-at-start", text]
    assert plan_of(words).config.params == {"beds_at_start": given}


def test_parameters_per_region_of_a_file_stay(here):
    (here / "a.yaml").write_text("environment: health\nbeds_at_start: {south: 390}\n")
    plan = plan_of("--config a.yaml --params.bed-cost +10%".split())
    assert plan.config.params == {"beds_at_start": {"South": 390.0}, "bed_cost": "+10%"}


def test_help_names_the_elements_of_actions_and_parameters_per_region(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")
    assert main(["train", "health", "--population", "60", "--help"]) == 0
    out = capsys.readouterr().out
    assert (
        "Elements: insurer: premium; hospital: priority; planner: hospital_infrastructure,"
        " public_health, insurance_subsidies, rollover, hospital_infrastructure_GROUP,"
        " public_health_GROUP, insurance_subsidies_GROUP (groups: Northeast, Midwest, South, West)."
    ) in out
    assert "--params" not in out.replace("(--params.NAME)", "")
    assert main(["train", "health", "--population", "60", "--help-params"]) == 0
    out = capsys.readouterr().out
    assert "--params.beds-at-start NUMBER|REGION=NUMBER,..." in out
    assert "[beds, from 0 to 1,000,000]; one number, or one per region (default: 2.0)" in out


def test_every_kind_of_flag():
    plan = plan_of(
        "loan --population 70 --pooled --fix disbursement=first-come --bound wait_disparity=0.1"
        " --agent-objective admissions=direct --objective frontier:0.5 --seeds 0:2,7".split()
    )
    assert plan.config.environment_args["population"] == 70
    assert plan.config.algorithm_args["pooled"] is True
    assert plan.config.fixed == {"disbursement": "first-come"}
    assert plan.config.bounds == {"wait_disparity": 0.1}
    assert plan.config.objectives == {"admissions": "direct"}
    assert plan.seeds == (0, 1, 7)
    assert str(plan.out) == "runs/loan-f-macem-frontier-0.5"


def test_a_flag_is_seen_before_the_flags_are_parsed():
    assert peek(["--out", "a", "--out=b"], "--out") == "b"
    assert peek(["--out"], "--out") is None


def test_train_tells_lines_and_leaves_a_run(run, capsys, here):
    assert main(["train", "loan", *SMALL, "--out", "x", "--seed", "1"]) == 0
    out = capsys.readouterr().out
    assert "compiling" in out and "epoch 2/2  objective" in out
    assert "x: objective" in out and "after 2 epochs" in out
    assert load("x").config == dataclasses.replace(load(run).config, seed=1)


def test_resume_reads_the_settings_from_the_run(run, capsys):
    """Resuming needs neither the environment nor any setting."""
    before = (run / "summary.json").read_bytes()
    assert main(["train", "--resume", "--out", str(run)]) == 0
    assert main(["train", "loan", "--resume", "--out", str(run)]) == 0
    assert (run / "summary.json").read_bytes() == before


def test_resume_continues_a_replacement_that_was_begun(here, monkeypatch, capsys):
    words = ["train", "loan", *SMALL, "--out", "x"]
    assert main(words) == 0
    before = (here / "x" / "policy.eqx").read_bytes()

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("fairgym.algorithms.f_macem.FMacem.update", interrupted)
        assert main([*words, "--seed", "1", "--overwrite"]) == 130
    assert (here / "x" / "policy.eqx").read_bytes() == before and load("x").config.seed == 0
    assert main(["train", "--resume", "--out", "x"]) == 0
    assert load("x").config.seed == 1 and load("x").summary["epochs"] == 2
    assert (here / "x" / "policy.eqx").read_bytes() != before


def measures_of(document):
    """Return policy -> name of a measure -> its record."""
    found = {one["policy"]: {} for one in document["policies"]}
    for row in document["results"]:
        if row["kind"] == "measure":
            found[row["policy"]][row["measure"]] = row
    return found


def test_seeds_then_evaluate_them(run, capsys, here):
    assert main(["train", "loan", *SMALL, "--out", "many", "--seeds", "0:2"]) == 0
    capsys.readouterr()
    assert [p.name for p in run_folders("many")] == ["seed-0", "seed-1"]
    one, other = (
        json.loads((here / "many" / f"seed-{s}" / "summary.json").read_text()) for s in (0, 1)
    )
    assert one["seed"] == 0 and other["seed"] == 1 and one["objective"] != other["objective"]
    whole = json.loads((run / "summary.json").read_text())
    assert one["metrics"] == whole["metrics"]

    assert main(["evaluate", "many", "--episodes", "6", "--seed", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    env = load(run).env
    assert [entry["policy"] for entry in document["policies"]] == [
        "many/seed-0",
        "many/seed-1",
        *env.spec.baselines,
        "random",
    ]
    assert "admit_all_no_relief" in env.spec.baselines  # a slug in JSON, words in the table below
    found = measures_of(document)
    first = found["many/seed-0"]
    for policy, measures in found.items():
        assert list(measures) == ["objective", *env.metrics, "survived"]
        for name, value in measures.items():
            assert value["low"] <= value["mean"] <= value["high"]
            if policy == "many/seed-0":
                assert value["reference"] is value["difference"] is value["clear"] is None
                continue
            assert value["reference"] == "many/seed-0"
            gap = [value[f"difference{end}"] for end in ("_low", "", "_high")]
            undefined = [one["undefined_episodes"] for one in (value, first[name])]
            if any(undefined):  # such episodes are left out
                assert max(undefined) < 6 or gap == [None] * 3
                continue
            assert gap == sorted(gap)
            assert gap[1] == pytest.approx(value["mean"] - first[name]["mean"], abs=1e-4)
    assert [one["run"] for one in document["policies"]][:3] == ["many/seed-0", "many/seed-1", None]

    assert main(["evaluate", str(run), "--episodes", "6", "--seed", "1", "--all"]) == 0
    table = capsys.readouterr().out
    for words in ("Objective", "Profit", "Default disparity", "learned", "random", "95% CI"):
        assert words in table
    assert "admit all" in table and "admit_all" not in table
    told = first["profit"]  # in thousand dollars, and in dollars for people
    profit = Estimate(*(1000.0 * told[name] for name in ("mean", "low", "high")))
    shown = next(line for line in table.splitlines() if line.startswith("│ Profit (dollars) ↑"))
    assert shown.split("│")[2].strip() == interval(profit)


@pytest.mark.full
def test_gaps_stand_beside_permuted_groups(run, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "300")
    words = ["evaluate", str(run), "--episodes", "6", "--null"]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    env = load(run).env
    measures = measures_of(found)["learned"]
    for name, value in measures.items():
        fair = name in env.metrics and env.metrics[name].kind == "fair"
        assert ("null_mean" in value) == fair
        if fair and value["null_mean"] is not None:
            assert value["null_bound"] <= value["null_mean"] <= 0
            if not value["undefined_episodes"]:
                excess = value["mean"] - value["null_mean"]
                assert value["null_excess"] == pytest.approx(excess, abs=1e-5)
                assert value["null_clear"] == (value["mean"] < value["null_bound"])
    assert main([*words, "--all"]) == 0
    before, nulls = capsys.readouterr().out.split("Disparities beside their null distributions")
    rows = {
        line.split("│")[1]
        for line in nulls.splitlines()
        if line.startswith("│") and "disparity" in line
    }
    assert len(rows) == sum("null_mean" in value for value in measures.values())
    # gaps: each rate once, with its sign, test and difference from the first policy
    gaps = before.split("Who is worse off")[1]
    told = [row for row in found["results"] if row["kind"] == "gap"]
    for policy in [one["policy"] for one in found["policies"]]:
        own = [row for row in told if row["policy"] == policy]
        shown = [row["measure"] for row in own]
        assert sorted(shown) == sorted(compared_by_group(env))
        assert shown.index("served_disparity") < shown.index("wait_disparity")
        for row in own:
            assert row["title"] in gaps and row["permutations"] == ENOUGH
            assert [row["part"], row["against"]] == list(env.spec.groups)
            assert (row["reference"] is None) == (policy == "learned")
            if row["worse_off"]:
                ahead = row["mean"] * row["better"] > 0
                assert row["worse_off"] == env.spec.groups[1 if ahead else 0]
                assert row["low"] > 0 or row["high"] < 0
                assert f"the {row['worse_off']} by " in gaps
    assert gaps.count("p = ") == len(told)


def test_differences_are_those_of_the_same_episodes(run, monkeypatch, capsys):
    """Paired differences, against episodes measured here one by one."""
    rule = "admit_all_no_relief"
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["evaluate", str(run), "--episodes", "6", "--json"]) == 0
    found = measures_of(json.loads(capsys.readouterr().out))
    ours, theirs = (
        evaluate(
            loaded.env,
            loaded.params,
            policies,
            jax.random.key(0),
            6,
            objective=loaded.objective,
            discount=loaded.discount,
        )
        for loaded in [load(run)]
        for policies in (
            loaded.policies,
            fixed_policies(loaded.env, loaded.env.spec.baselines[rule]),
        )
    )
    gaps = np.asarray(theirs.metrics["profit"] - ours.metrics["profit"], float)
    half = stats.t.ppf(0.975, 5) * gaps.std(ddof=1) / math.sqrt(6)
    told = found[rule]["profit"]
    assert [told[f"difference{end}"] for end in ("", "_low", "_high")] == pytest.approx(
        [gaps.mean(), gaps.mean() - half, gaps.mean() + half], rel=1e-5
    )
    assert main(["evaluate", str(run), "--episodes", "6", "--all"]) == 0
    means, differences = capsys.readouterr().out.split("Differences from learned")
    differences = differences.split("Who is worse off")[0]
    assert "learned" in means and "learned" not in differences

    def cells_of(label):
        """Cells of a measure in all parts of the table."""
        rows = (line for line in differences.splitlines() if line.startswith(f"│ {label}"))
        return [cell.strip() for row in rows for cell in row.strip("│ ").split("│")[1:]]

    cells = cells_of("Profit")
    assert len(cells) == len(found) - 1
    for cell, (_, measures) in zip(cells, list(found.items())[1:], strict=True):
        told = measures["profit"]
        clear = told["difference_low"] > 0 or told["difference_high"] < 0
        assert told["clear"] == clear
        verdict = ("better" if told["difference"] > 0 else "worse") if clear else ""
        fails = -measures["survived"]["difference"]
        if clear and fails * told["difference"] > 0:
            verdict = "by failing"
        dollars = Estimate(*(1000.0 * told[f"difference{end}"] for end in ("", "_low", "_high")))
        assert cell == f"{difference_text(dollars, 'dollars')} {verdict}".rstrip()
    assert any(cell.endswith(("better", "worse", "by failing")) for cell in cells)
    for cell, (_, measures) in zip(cells_of("Default rate"), list(found.items())[1:], strict=True):
        gap = measures["default_rate"]["difference"]
        if gap is None:
            assert cell == "undefined"
            continue
        assert cell.startswith("−" if gap > 0 else "+")  # shown without the minus sign


def test_evaluate_is_short_unless_all_is_asked_for(run, monkeypatch, capsys, here):
    """25 lines of at most 100 columns, which name the most important; the last says the rest."""
    for seed in range(10):
        shutil.copytree(run, here / "many" / f"seed-{seed}")
    words = ["evaluate", "many", "--episodes", "6"]
    assert main(words) == 0
    short = capsys.readouterr().out.splitlines()
    assert len(short) <= 25 and short[-1] == "All measures and tables: --all."
    assert any("many/seed-0" in line for line in short)
    assert any("admit all no relief" in line and "of 6" in line for line in short)
    assert any(line.startswith("Compared with many/seed-0") for line in short)
    both = [line for line in short if "worse in" in line and " better in" in line]
    assert all(line.index("worse in") < line.index(" better in") for line in both)
    runs = sum(line.startswith("│ many/") for line in short)
    assert 0 < runs < 10 and f"not shown: {10 - runs} more learned policies" in " ".join(short)
    assert main([*words, "--all"]) == 0
    long = capsys.readouterr().out.splitlines()
    assert len(long) > 100 and "many/seed-9" in " ".join(long)
    for line in (*short[1:], *long):
        assert len(line) <= 100 or "│" not in line
    assert "--all" not in " ".join(long)


ODD_NAMES = ["x[uniform]", "[/red]", "[bold]y", "esc\x1b[31m", "right\u202eleft", ":smile:"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_are_shown_as_they_are_and_obeyed_by_no_terminal(
    name, run, monkeypatch, capsys, here
):
    """Folder names in tables, messages and paths are neither markup nor control characters."""
    monkeypatch.setenv("COLUMNS", "300")  # nothing is folded
    shown = name.replace("\x1b", r"\x1b").replace("\u202e", r"\u202e")
    for folder in (name, f"{name}2"):
        shutil.copytree(run, folder)
    assert main(["evaluate", name, f"{name}2", "--episodes", "6", "--all"]) == 0
    out = capsys.readouterr().out
    assert re.search(rf"\s{re.escape(shown)}[\s┃]+{re.escape(shown)}2\s", out)
    assert main(["train", "--resume", "--out", name]) == 0
    assert f"{shown}: objective" in capsys.readouterr().out
    assert main(["evaluate", f"{name}/none"]) == 2
    err = capsys.readouterr().err
    assert f"{shown}/none is not a folder" in err
    for text in (out, err):
        assert "\x1b" not in text and "\u202e" not in text


def test_odd_names_of_measures_are_no_markup(run, monkeypatch, capsys):
    """Notes under the table are escaped too."""
    monkeypatch.setenv("COLUMNS", "300")

    def odd(env, name):
        return dataclasses.replace(metric_label(env, name), title="[/red]\x1b[31m")

    monkeypatch.setattr("fairgym.results.quantities.metric_label", odd)
    assert main(["evaluate", str(run), "--episodes", "6", "--all"]) == 0
    table, notes = capsys.readouterr().out.split("which are dropped:")
    for out in (table, notes):
        assert r"[/red]\x1b[31m" in out and "\x1b" not in out


def test_a_sentence_is_bounded(capsys):
    assert main(["x" * 100_000]) == 2
    assert len(capsys.readouterr().err) < 2100


@pytest.mark.full
def test_without_matplotlib_it_is_said_what_to_install(run, here):
    code = (
        "import sys\nsys.modules['matplotlib'] = None\nfrom fairgym.cli import main\n"
        f"for words in (['report', {str(run)!r}], ['demo'], ['reproduce', '--list'],"
        " ['reproduce', 'mafe-fig8']):\n    assert main(words) == 2\n"
        f"assert main(['list']) == main(['evaluate', {str(run)!r}, '--episodes', '6']) == 0"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if not line.startswith("measuring: ")]
    assert len(lines) == 4 and all(
        "pip install -e '.[plot]' in a clone of fairgym" in line for line in lines
    )
    assert not list(here.iterdir()), "nothing is trained for a report that cannot be made"


def test_runs_that_differ_are_labelled_by_what_differs(run, monkeypatch, capsys, here):
    """Runs with different parameters have separate tables."""
    monkeypatch.setenv("COLUMNS", "300")
    assert main(["train", "loan", *SMALL, "--params.deposit-rate", "0.02", "--out", "b"]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(run), "b", "--episodes", "6"]) == 0
    out = capsys.readouterr().out
    titles = [line.strip() for line in out.splitlines() if "episodes of up to" in line]
    setting = (
        "loan, 60 people, 6 episodes of up to 20 months, same people and random numbers for every"
        " policy; deposit rate"
    )
    assert titles == [f"{setting} 0.03", f"{setting} 0.02"]
    assert "learned" not in out, "the columns are named as the report names them"
    assert main(["evaluate", str(run), "b", "--episodes", "6", "--json"]) == 0
    policies = [one["policy"] for one in json.loads(capsys.readouterr().out)["policies"]]
    assert policies.count("deposit rate 0.03") == policies.count("deposit rate 0.02") == 1


def test_folders_of_equal_names_are_told_apart(run, monkeypatch, capsys, here):
    for root in "ab":
        shutil.copytree(run, here / root / "x" / "y")
    assert main(["evaluate", "a/x/y", "b/x/y", "--episodes", "6", "--json"]) == 0
    policies = [one["policy"] for one in json.loads(capsys.readouterr().out)["policies"]]
    assert policies[:2] == ["x/y (1)", "x/y (2)"]


def test_ctrl_c_says_how_to_go_on(run, monkeypatch, capsys, here):
    def interrupted(config, out, *, progress, **_):
        raise KeyboardInterrupt

    monkeypatch.setattr("fairgym.training.loop.train", interrupted)
    command = f"fairgym train loan {' '.join(SMALL)} --out 'a b'"
    assert main(["train", "loan", *SMALL, "--out", "a b", "--overwrite"]) == 130
    err = capsys.readouterr().err
    assert err == f"interrupted; continue with: {command} --overwrite\n", "nothing was begun"
    assert main(["--import", "json", "train", "loan", *SMALL, "--out", "a b"]) == 130
    err = capsys.readouterr().err
    assert err == f"interrupted; continue with: {command} --import json\n"
    shutil.copytree(run, here / "a b")
    assert main(["train", "loan", *SMALL, "--out", "a b", "--overwrite"]) == 130
    err = capsys.readouterr().err
    assert err == f"interrupted; continue with: {command} --resume\n"


def test_a_full_disk(monkeypatch, capsys, here):
    import errno
    import os

    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("fairgym.utils.files.os.fsync", fail)
    assert main(["train", "loan", *SMALL, "--out", "x"]) == 2
    err = capsys.readouterr().err
    assert "cannot be written (No space left on device)" in err.splitlines()[0]
    assert not list(here.iterdir())


def test_demo_starts_over_only_what_is_a_demo(monkeypatch, capsys, here):
    pages, asked = [], []

    def report(folders, **_):
        pages.append(folders)
        return folders[0] / "report.html"

    def smaller(name, environment_args, algorithm_args):
        asked.append((name, environment_args, algorithm_args))
        return RunConfig(
            name,
            environment_args={**environment_args, "horizon": 20},
            algorithm_args={
                **{"episodes_per_epoch": 8, "evaluation_episodes": 2, "hidden": 8},
                **algorithm_args,
            },
        )

    monkeypatch.setattr("fairgym.config.run_config.RunConfig", smaller)
    monkeypatch.setattr("fairgym.report.write_report", report)
    measured = []

    def once(*given, **options):
        if not measured:
            measured.append(compare(*given, **options))
        return measured[0]

    monkeypatch.setattr("fairgym.training.comparison.compare", once)
    demo = ["demo", "--population-size", "60", "--epochs", "2", "--out", "d"]
    assert main(demo) == 0
    assert asked == [("loan", {"population": 60}, {"epochs": 2})]
    out = capsys.readouterr().out
    assert "epoch 2/2" in out and "d/report.html" in out and "d/figures" in out
    assert "relief, of which 50% is forgiven" in out
    lines = [line for line in out.splitlines() if "loan, f-macem: " not in line]
    assert len(lines) <= 25 and lines[-1] == "All tables: fairgym evaluate d --all"
    ((comparison,),) = measured
    ours, theirs = (
        number_told(1.0 - float(np.mean(one.evaluations[0].metrics["served_rate"])), "share")
        for one in comparison.policies
        if one.name in ("learned policy", "published_fixed_policy")
    )
    told = f"the learned policy never pays out {ours}, the published fixed policy {theirs}."
    assert f"Of those approved, {told}" in lines
    assert out.index("never pays out") < out.index("Worse off")
    began = load("d").provenance
    (here / "d" / "summary.json").unlink()
    assert main(demo) == 0, "an unfinished one is continued"
    assert load("d").provenance == began and load("d").summary["epochs"] == 2
    policy = (here / "d" / "policy.eqx").stat().st_mtime_ns
    assert main([*demo, "--all"]) == 0, "a finished one is replaced"
    assert "Who is worse off" in capsys.readouterr().out
    assert (here / "d" / "policy.eqx").stat().st_mtime_ns > policy
    assert len(pages) == 3
    capsys.readouterr()
    assert main([*demo, "--epochs", "3"]) == 2
    err = capsys.readouterr().err
    assert "epochs is 3, but the run in d has 2; give a new folder" in err


def test_report_takes_a_folder_of_seeds(run, monkeypatch, capsys):
    taken = []
    monkeypatch.setattr(
        "fairgym.report.write_report", lambda folders, out, **_: taken.append(folders) or "page"
    )
    assert main(["report", str(run)]) == 0
    assert capsys.readouterr().out == "page\n" and taken == [(str(run),)]


def test_help(capsys):
    assert main([]) == 0 and main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in COMMANDS)
    for words in (["train"], ["train", "loan"], ["evaluate"], ["report"], ["bench"], ["demo"]):
        assert main([*words, "--help"]) == 0
        assert "usage: fairgym" in capsys.readouterr().out
    assert main(["train", "loan", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for flag in ("--population-size", "--help-params", "--epochs", "--fix", "--seeds"):
        assert flag in text
    assert main(["data", "--help"]) == 0


LONG_HELPS = ["train loan --algorithm f-ppo", "train loan --algorithm f-mappo", "train health"]
HELPS = ["simulate health", "sweep run", "sweep table", "data describe", "data import"]


@pytest.mark.parametrize("words", [*COMMANDS, *HELPS, *LONG_HELPS])
def test_every_help_fits_two_screens(words, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "100")
    assert main([*words.split(), "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 100 and max(map(len, lines)) <= 100


def test_help_has_groups_and_a_full_form(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "100")
    assert main("train loan --algorithm f-ppo --help".split()) == 0
    brief = capsys.readouterr().out
    assert re.findall(r"^(\w+):$", brief, re.MULTILINE) == ["run", "environment", "algorithm"]
    assert "--resume  " in brief and "--no-resume" not in brief and " ... (default:" in brief
    assert main("train loan --algorithm f-ppo --help-params".split()) == 0
    full = capsys.readouterr().out
    titles = re.findall(r"^(\w+):$", full, re.MULTILINE)
    assert titles == ["environment", "algorithm", "parameters"]
    assert "[from 0 to 1]" in full and " ... (" not in full


def test_help_needs_no_data_and_no_plots(monkeypatch, capsys):
    for name in ("pyarrow", "pyarrow.parquet", "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["train", "loan", "--help"]) == 0
    out = capsys.readouterr().out
    assert "--selective-labels" in out.replace("[no-]", "") and "--elite-share" in out
    assert "elements are not shown: reading populations needs pyarrow: pip install" in out
    assert main(["simulate", "loan", "--help"]) == 0
    assert "--selective-labels" in capsys.readouterr().out.replace("[no-]", "")
    assert main(["train", "loan", "--help-params"]) == 2
    assert "pip install -e '.[data]' in a clone of fairgym" in capsys.readouterr().err


def test_help_shows_the_parameters_that_will_be_used(monkeypatch, capsys, here):
    """Some defaults depend on the population: the help shows the values for the given one."""
    monkeypatch.setenv("COLUMNS", "500")
    names = ("planner-budget", "beds-at-start", "bed-base-cost", "build-bed-time")
    (here / "a.yaml").write_text("environment: health\npopulation: 1000\n")

    def shown(*words):
        assert main(["train", *words, "--help-params"]) == 0
        text = " ".join(capsys.readouterr().out.replace("│", " ").split())
        found = {}
        for name in names:
            about = re.search(rf"--params\.{name} NUMBER\S* (.*?)\(default: (.*?)\)", text)
            assert about is not None
            assert re.search(r"The default is scaled .*; a given value is not", about[1])
            found[name.replace("-", "_")] = float(about[2])
        return found

    for people, words in (
        (10_000, ["health"]),
        (1000, ["health", "--population-size", "1000"]),
        (1000, ["health", "--population=1000"]),
        (1000, ["--config", "a.yaml"]),
        (2000, ["--config", "a.yaml", "--population-size=2000"]),
    ):
        config = plan_of(["health", "--population-size", str(people)]).config.build().config
        assert shown(*words) == {name: config.params[name] for name in shown(*words)}
    small = plan_of(["health", "--population-size", "1000", "--params.beds-at-start", "12"])
    assert small.config.build().config.params["beds_at_start"] == 12
    assert main(["train", "health", "--population-size", "x", "--help"]) == 2
    assert "population must be a whole number, got 'x'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["education", "health", "loan", "loan_simple"])
def test_what_is_scaled_with_the_people_says_so(name):
    small, large = (make(name, population=people).default_params for people in (1000, 2000))
    info = small.info()
    scaled = {field for field in info if getattr(small, field) != getattr(large, field)}
    said = {field for field in info if "The default is scaled" in info[field].description}
    assert scaled == said


WITH_FLAGS = "bench data demo evaluate pairs report reproduce simulate sweep sweep_results train"
FLAGS = {
    f"{cls.__name__}.{setting.name}": setting
    for name in WITH_FLAGS.split()
    for cls in vars(importlib.import_module(f"fairgym.cli.{name}")).values()
    if isinstance(cls, type)
    and dataclasses.is_dataclass(cls)
    and cls.__module__ == f"fairgym.cli.{name}"
    for setting in fields_of(cls)
    if cls.__name__ != "Plan"
}


@pytest.mark.parametrize("name", FLAGS)
def test_every_flag_has_a_help(name):
    assert len(FLAGS) > 50
    text = FLAGS[name].help
    assert text.endswith(".") and ".." not in text


def test_list_version_and_data(capsys):
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"  loan +\w+", out) and re.search(r"  f-macem +F-MACEM", out)
    assert main(["version"]) == 0 and main(["--version"]) == 0
    assert re.fullmatch(r"(fairgym \d+\.\d+\.\d+\n){2}", capsys.readouterr().out)
    assert main(["data", "describe", "loan"]) == 0
    assert "Groups and outcomes" in capsys.readouterr().out


def test_the_command_is_the_module(capsys):
    assert train_module.HINT.startswith("fairgym train ENVIRONMENT")
    done = subprocess.run(
        [sys.executable, "-m", "fairgym", "train", "loan", "--fix", "admissions=2"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("fairgym: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("mean", "fails", "verdict"),
    [
        (1.0, 0.0, "better"),
        (-1.0, 0.0, "worse"),
        (1.0, -0.5, "better"),
        (-1.0, 0.5, "worse"),
        (1.0, 0.5, "by failing"),
        (-1.0, -0.5, "by failing"),
    ],
)
def test_nobody_is_better_by_failing(mean, fails, verdict):
    """The reference fails less often in the second last case and more often in the last."""
    quantity = Quantity("measure", "profit", "Profit", "", "dollars", 1, lambda _: np.zeros(4))

    def found(low, high):
        row = Row(quantity, {}, {"other": Estimate(mean, low, high)})
        return verdicts.verdict(row, "other", fails)

    assert found(mean - 0.1, mean + 0.1) == verdict
    assert found(-2.0, 2.0) == ""


@pytest.mark.parametrize(("low", "verdict"), [(0.1, "not comparable"), (-0.1, "better")])
def test_no_wait_is_called_better_where_another_share_is_served(low, verdict):
    """Waits of the served are not compared if fewer people are served."""
    wait = Quantity("measure", "wait_disparity", "Wait", "", "months", -1, lambda _: np.zeros(4))
    share = Quantity("measure", "served_rate", "Served", "", "share", 1, lambda _: np.zeros(4))
    served = Row(share, {}, {"other": Estimate(0.2, low, 0.3)})
    row = Row(wait, {}, {"other": Estimate(-3.0, -4.0, -2.0)})
    assert verdicts.verdict(row, "other", 0.0, served) == verdict
