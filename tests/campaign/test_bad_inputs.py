"""The campaign of bad inputs: every command refuses them in one sentence, before it does anything.

The cases come from tables: flags (`bad_flags.py`), other words (`bad_words.py`), and files
(`bad_files.py`). Every flag and every setting meets a few of the wrong values of its kind; with
the environment variable FAIRGYM_BAD_INPUTS=all it meets all of them, which takes some minutes.
"""

import dataclasses
import os
import re
import shutil
from collections import Counter

import pytest
from bad_files import config_cases, data_cases, run_cases, scenario_cases
from bad_flags import COMMANDS as COMMAND_FLAGS
from bad_flags import flag_cases, setting_cases
from bad_words import word_cases

from fairgym.cli import (
    COMMANDS,
    audit,
    bench,
    benchmark,
    data,
    demo,
    evaluate,
    listing,
    main,
    report,
    reproduce,
    simulate,
    sweep,
    sweep_results,
    train,
)
from fairgym.training import devices

ALL = os.environ.get("FAIRGYM_BAD_INPUTS") == "all"
MOST = len("fairgym: ") + 2000 + len(" ... \n")
JARGON = r"Traceback|__\w+__|NoneType|'\w+' object|object is not|\w+Error|\w+Warning"
WORK = ("training.loop._updates", "training.evaluation.measure", "bench.command.measure")
RUN = "--algorithm grid-search --steps 2 --population 30 --horizon 3 --episodes 1".split()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small run, to be copied."""
    out = tmp_path_factory.mktemp("finished") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(devices, "configure", lambda: None)
        assert main(["train", "loan_simple", *RUN, "--out", str(out)]) == 0
    return out


@pytest.fixture
def here(finished, tmp_path, monkeypatch):
    """A folder with a finished run; whatever is not refused fails at its work."""
    for work in WORK:
        monkeypatch.setattr(f"fairgym.{work}", not_refused)
    monkeypatch.setattr(devices, "configure", lambda: None)
    monkeypatch.setenv("FAIRGYM_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished, tmp_path / "run")
    (tmp_path / "plan.toml").write_text('[base]\nenvironment = "loan_simple"\n')
    return tmp_path


def not_refused(*_, **__):
    raise AssertionError("was not refused")


def content(folder):
    """Everything in a folder: path -> kind, time of change, content; without Python's own cache."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if "__pycache__" in path.parts:
            continue
        about = path.lstat()
        regular = path.is_file() and not path.is_symlink() and about.st_size < 2**20
        read = path.read_bytes() if regular and os.access(path, os.R_OK) else about.st_size
        found[path] = (about.st_mode, about.st_mtime_ns, read)
    return found


def check_refused(case, folder, capsys):
    if case.prepare is not None:
        case.prepare(folder)
    before = content(folder)
    capsys.readouterr()
    code = main(list(case.words))
    out, err = capsys.readouterr()
    assert code == 2 and out == "", (code, out, err)
    sentence, *shown = err.splitlines()
    assert sentence.startswith("fairgym: ") and sentence.isprintable() and err.endswith("\n"), err
    others = "cannot be loaded: " in sentence  # whose code has errors with names of their own
    assert not shown or (others and not re.search(r"File .*[\\/]fairgym[\\/]", err)), err
    assert len(err) <= MOST and (others or not re.search(JARGON, err)), err
    assert any(name in err for name in case.names), (case.names, err)
    assert content(folder) == before, "something was written"


NUMBER = 99 if ALL else 1
CASES = {
    "words": word_cases(),
    "flags": flag_cases(NUMBER),
    "settings": setting_cases(NUMBER),
    "configurations": config_cases(NUMBER),
    "scenarios": scenario_cases(NUMBER),
    "runs": run_cases(NUMBER),
    "data": data_cases(NUMBER),
}


def in_tiers(kind, cases):
    """Cases as parameters: of each command the first and every twelfth are in the first tier."""
    seen = Counter()
    for number, case in enumerate(cases):
        command = case.words[0] if case.words else ""
        marks = pytest.mark.full if seen[command] % 12 else ()
        seen[command] += 1
        yield pytest.param(case, marks=marks, id=f"{kind}-{number}: {' '.join(case.words)[:60]!r}")


NAMED = [param for kind, cases in CASES.items() for param in in_tiers(kind, cases)]


@pytest.mark.parametrize("case", NAMED)
def test_refused(case, here, capsys):
    check_refused(case, here, capsys)


def test_there_are_enough_of_every_kind():
    assert len(NAMED) > 400 and min(map(len, CASES.values())) > 50
    commands = {case.words[0] for cases in CASES.values() for case in cases if case.words}
    assert commands >= set(COMMANDS)


FLAGS = {
    "train loan": train.Common,
    "evaluate run": evaluate.Flags,
    "report run": report.ReportFlags,
    "reproduce mafe-fig8": reproduce.ReproduceFlags,
    "bench loan": bench.BenchFlags,
    "benchmark list": benchmark.ListFlags,
    "benchmark run --task doughnut-3-v0": benchmark.RunFlags,
    "benchmark table": benchmark.TableFlags,
    "benchmark page": benchmark.PageFlags,
    "simulate loan": simulate.Common,
    "sweep run plan.toml": sweep.RunFlags,
    "sweep status plan.toml": sweep.StatusFlags,
    "sweep table plan.toml": sweep_results.TableFlags,
    "sweep pareto plan.toml --x score --y score": sweep_results.ParetoFlags,
    "sweep effects plan.toml": sweep_results.EffectFlags,
    "sweep page plan.toml": sweep_results.PageFlags,
    "data describe loan": data.DescribeFlags,
    "audit --example arrests": audit.AuditFlags,
    "list": listing.ListFlags,
    "demo": demo.DemoFlags,
}


def test_the_tables_have_every_flag():
    assert set(FLAGS) == set(COMMAND_FLAGS)
    for command, cls in FLAGS.items():
        names = {field.name for field in dataclasses.fields(cls)} - {"names", "folders", "table"}
        assert names == set(COMMAND_FLAGS[command]), command
