"""Sweeps from files: which runs they are, that they are resumed, and their tables."""

import contextlib
import csv
import json
import os
import re
import shutil
import signal
import sys
import threading
import time
import tomllib
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import fates  # noqa: F401 - registers an algorithm
import numpy as np
import pytest
import two_servers  # noqa: F401 - registers an environment that compiles quickly
from tiers import in_tiers

from fairgym.cli import main, sweep
from fairgym.config import read_sweep, sweep_of
from fairgym.core import FairgymError
from fairgym.sweeps import Local, Processes, Vmap, entries_of, results_of, run_sweep
from fairgym.training import devices, load

BASE = {
    "environment": "two_servers",
    "epochs": 2,
    "episodes_per_epoch": 4,
    "hidden": 2,
    "evaluation_episodes": 2,
}
TOML = """
seeds = "0:2"
[base]
environment = "two_servers"
epochs = 2
episodes_per_epoch = 4
hidden = 2
evaluation_episodes = 2
[grid]
horizon = [3, 4]
"""


def settings_of(**parts):
    return [dict(one) for one in sweep_of({"base": BASE, **parts}).settings.values()]


def test_a_grid_is_every_combination_less_what_is_excluded():
    grid = {"horizon": [3, 4], "elite_share": [0.2, 0.4]}
    combined = [
        {"horizon": 3, "elite_share": 0.2},
        {"horizon": 3, "elite_share": 0.4},
        {"horizon": 4, "elite_share": 0.2},
        {"horizon": 4, "elite_share": 0.4},
    ]
    assert settings_of(grid=grid) == combined
    assert settings_of(grid=grid, exclude=[{"horizon": 4}]) == combined[:2]
    less = settings_of(grid=grid, exclude=[{"horizon": 4, "elite_share": 0.2}])
    assert less == [one for one in combined if one != {"horizon": 4, "elite_share": 0.2}]
    less = settings_of(grid=grid, exclude=[{"epochs": 2, "horizon": 4}])
    assert less == combined[:2], "of the base, too"


def test_zip_goes_side_by_side_and_a_list_has_runs_one_by_one():
    side = settings_of(zip={"horizon": [3, 4], "elite_share": [0.2, 0.4]})
    assert side == [{"horizon": 3, "elite_share": 0.2}, {"horizon": 4, "elite_share": 0.4}]
    alone = settings_of(list=[{"horizon": 3}, {"elite_share": 0.4}], grid={"hidden": [2, 3]})
    assert alone == [
        {"hidden": 2, "horizon": 3},
        {"hidden": 2, "elite_share": 0.4},
        {"hidden": 3, "horizon": 3},
        {"hidden": 3, "elite_share": 0.4},
    ]
    assert settings_of() == [{}], "the base alone is a sweep over seeds"


def test_settings_reach_the_configurations():
    sweep = sweep_of({"base": BASE, "grid": {"horizon": [3], "objective": ["direct"]}})
    (config,) = sweep.configs.values()
    assert config.environment_args == {"horizon": 3} and config.objective == "direct"
    assert list(sweep.configs) == ["horizon=3, objective=direct"]
    assert sweep.names == ["horizon", "objective"] and sweep.seeds == (0,)
    assert sweep_of({"base": BASE, "seeds": "0,3,7"}).seeds == (0, 3, 7), "as train takes them"


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"grids": {}}, "unknown part 'grids'; did you mean 'grid'"),
        ({"grid": {"horizon": 3}}, "grid.horizon must be a list of .* values, got a number"),
        (
            {"grid": {"horizon": []}},
            "grid.horizon must be a list of one or more values, got an empty list",
        ),
        ({"grid": [3]}, "grid must be names with values, got a list"),
        ({"zip": {"horizon": [3, 4], "hidden": [2]}}, r"different lengths \(horizon 2, hidden 1\)"),
        ({"grid": {"hidden": [2]}, "list": [{"hidden": 3}]}, "'hidden' is in two of grid, zip"),
        ({"list": [3]}, "list must be a list of tables"),
        ({"exclude": [{"horizon": 3}]}, "exclude names 'horizon', which no run"),
        ({"exclude": [{"epochs": 9, "horizn": 3}]}, "exclude names 'horizn', which no run"),
        ({"exclude": [{"epochs": 2}]}, "exclude leaves no run"),
        (
            {"grid": {"horizon": [3, 4]}, "exclude": [{"horizon": 4}, {"horizon": 5, "hidden": 2}]},
            "exclude has horizon=5, hidden=2, which matches no run of the sweep",
        ),
        (
            {"grid": {"horizon": [1, 4]}, "exclude": [{"horizon": True}]},
            "exclude has horizon=True, which matches no run of the sweep",
        ),
        ({"base": BASE | {"seed": 3}}, "base has 'seed'; give seeds at the head of the file"),
        ({"grid": {"seed": [3, 4]}}, "grid has 'seed'; give seeds at the head of the file"),
        ({"grid": {"format": [3, 4]}}, "grid has 'format', which is a record of a run"),
        ({"base": BASE | {"num-epochs": 3, "num_epochs": 4}}, "num_epochs is given twice"),
        ({"grid": {"elite-share": [0.2], "elite_share": [0.3]}}, "elite_share is given twice"),
        (
            {"grid": {"elite-share": [0.2]}, "zip": {"elite_share": [0.3]}},
            "'elite_share' is in two of grid, zip and list",
        ),
        ({"seeds": "\u0663:\u0665"}, "seeds must be START:STOP .*, got '\u0663:\u0665'"),
        ({"grid": {"horizn": [3]}}, "horizn=3: unknown key 'horizn'; did you mean 'horizon'"),
        ({"grid": {"horizon": ["x"]}}, "horizon=x: horizon must be a whole number.*got 'x'"),
        ({"seeds": "3:"}, "seeds must be START:STOP.*got '3:'"),
        ({"seeds": [1, 1]}, "seeds must be START:STOP .*, got .1, 1."),
        ({"seeds": [-1]}, "seeds must be START:STOP .*, got .-1."),
        ({"seeds": "3:3"}, "seeds must be START:STOP .*, got '3:3'"),
        ({"grid": {"epochs": list(range(1, 2_000))}, "seeds": "0:60"}, "more than 100,000 runs"),
    ],
)
def test_what_is_no_sweep_is_told(parts, message):
    with pytest.raises(FairgymError, match=message):
        sweep_of({"base": BASE, **parts})


@pytest.mark.parametrize(
    ("part", "content"),
    [
        ("base", BASE | {"imports": ["plug_ran"]}),
        ("grid", {"imports": [["plug_ran"]]}),
        ("zip", {"imports": [["plug_ran"]]}),
        ("list", [{"horizon": 3, "imports": ["plug_ran"]}]),
        ("exclude", [{"imports": ["plug_ran"]}]),
    ],
)
def test_modules_are_named_at_the_head_of_the_file_alone(tmp_path, monkeypatch, part, content):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "plug_ran.py").write_text("import pathlib\npathlib.Path('ran').touch()\n")
    message = f"^{part} has 'imports'; give imports at the head of the file, beside base"
    with pytest.raises(FairgymError, match=message):
        sweep_of({"base": BASE, part: content})
    assert not (tmp_path / "ran").exists()
    sweep_of({"base": BASE, "imports": ["plug_ran"]})
    assert (tmp_path / "ran").exists()
    del sys.modules["plug_ran"]


def sweep_in(tmp_path, text=TOML):
    path = tmp_path / "plan.toml"
    path.write_text(text)
    return path


def test_a_sweep_is_trained_resumed_and_grows(tmp_path, capsys):
    """Nothing is done twice, and more values are more runs beside the old ones."""
    path, out = sweep_in(tmp_path), tmp_path / "out"
    assert main(["sweep", "run", str(path), "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "4 runs: 2 settings, seeds 0 to 1" in text and "4 waiting" in text
    assert "4 runs are finished" in text
    bits = {p: p.read_bytes() for p in out.glob("runs/*/seed-*/metrics.jsonl")}
    assert len(bits) == 4
    events = [json.loads(line)["event"] for line in (out / "sweep.jsonl").read_text().splitlines()]
    assert events.count("begun") == events.count("finished") == 4
    gone = next(out.glob("runs/*/seed-1"))
    shutil.rmtree(gone)
    sweep_in(tmp_path, TOML.replace("[3, 4]", "[3, 4, 5]"))
    assert main(["sweep", "status", str(path), "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "3 finished, 3 waiting" in text and "horizon=5: 2 waiting; 0 epochs" in text
    assert main(["sweep", "run", str(path), "--out", str(out)]) == 0
    after = {p: p.read_bytes() for p in out.glob("runs/*/seed-*/metrics.jsonl")}
    assert len(after) == 6
    for folder, content in bits.items():
        assert scrubbed(after[folder]) == scrubbed(content)
        assert gone in folder.parents or after[folder] == content, "not touched"


def scrubbed(lines):
    """Lines without the times."""
    found = [json.loads(line) for line in lines.splitlines()]
    return [
        {n: x for n, x in line.items() if "time" not in n and n != "steps_a_second"}
        for line in found
    ]


def test_a_dry_run_trains_nothing(tmp_path, capsys):
    path, out = sweep_in(tmp_path), tmp_path / "out"
    assert main(["sweep", "run", str(path), "--out", str(out), "--dry-run"]) == 0
    text = capsys.readouterr().out
    assert "differing: horizon" in text and "4 runs to train: about" in text
    assert not out.exists()


def test_shards_are_all_runs_together(tmp_path):
    sweep = sweep_of({"base": BASE, "grid": {"horizon": [3, 4, 5]}, "seeds": "0:5"})
    parts = [entries_of(sweep, tmp_path, (k, 4)) for k in (1, 2, 3, 4)]
    folders = [entry.run.folder for part in parts for entry in part]
    whole = [entry.run.folder for entry in entries_of(sweep, tmp_path)]
    assert sorted(folders) == sorted(whole) and len(set(folders)) == 15
    for shard in ("5/4", "0/4", "x", "1-4"):
        assert main(["sweep", "run", str(sweep_in(tmp_path)), "--shard", shard]) == 2


def test_runs_that_differ_in_numbers_of_parameters_share_a_program(tmp_path):
    base = {"environment": "loan_simple", "population": 50}
    grid = {"deposit_rate": [0.01, 0.02], "objective": ["direct", "uniform"]}
    entries = entries_of(sweep_of({"base": base, "grid": grid, "seeds": "0:3"}), tmp_path)
    programs = {}
    for entry in entries:
        programs.setdefault(entry.settings["objective"], set()).add(entry.run.program)
    assert [len(found) for found in programs.values()] == [1, 1]
    assert not set.intersection(*programs.values())


REASONS = {
    "refused": "step must be good, got bad",
    "broken": "ZeroDivisionError: a bug",
    "full": "MemoryError: no room for 8 numbers",
}


@pytest.mark.parametrize(
    ("engine", "fate", "times"),
    [
        *[(Local, fate, times) for fate in REASONS for times in (1, 2)],
        (Vmap, "broken", 1),
        (Vmap, "full", 2),
        pytest.param(lambda: Processes(2), "broken", 1, marks=pytest.mark.full),
    ],
)
def test_a_failed_run_is_tried_once_more_and_keeps_no_other_from_being_trained(
    tmp_path, monkeypatch, engine, fate, times
):
    """Whatever it is that ends it: an error in a sentence, a bug, a lack of memory."""
    monkeypatch.setenv("FATES", str(tmp_path))
    for number in range(times):
        (tmp_path / f"{fate}-{number}").touch()
    base = {"environment": "two_servers", "algorithm": "fated", "epochs": 4}
    sweep = sweep_of({"base": base, "grid": {"fate": [fate, "calm"]}})
    entries, said = entries_of(sweep, tmp_path / "out"), []
    failed = run_sweep(entries, tmp_path / "out", engine(), _shown, said.append)
    assert [failure.run.label for failure in failed] == [f"fate={fate}, seed 0"] * (times - 1)
    assert said.count("1 of 2 runs failed; trying them once more") == 1
    states = [entry.status for entry in entries]
    assert states == ["finished" if times == 1 else "failed", "finished"]
    assert entries[0].failure == ("" if times == 1 else REASONS[fate])
    lines = (tmp_path / "out" / "sweep.jsonl").read_text().splitlines()
    reasons = [json.loads(line)["reason"] for line in lines if '"failed"' in line]
    assert reasons == [REASONS[fate]] * times


def test_ctrl_c_is_no_failure_of_a_run(tmp_path, monkeypatch):
    def show(one):
        def progress(done, total, line):
            if done == 1:
                raise KeyboardInterrupt

        return contextlib.nullcontext(progress)

    for engine in (Local(), Vmap()):
        entries = entries_of(sweep_of({"base": BASE}), tmp_path / type(engine).__name__)
        with pytest.raises(KeyboardInterrupt):
            run_sweep(entries, entries[0].out, engine, show, print)
        assert entries[0].status == "begun" and entries[0].failure == ""


def test_failed_runs_are_shown_with_their_reasons(tmp_path, monkeypatch, capsys):
    """Until they are trained again, and go well."""
    monkeypatch.setenv("FATES", str(tmp_path))
    for number in range(3):  # both seeds meet it at first, and one of them again
        (tmp_path / f"broken-{number}").touch()
    text = TOML.replace("hidden = 2", 'algorithm = "fated"').replace("horizon", "fate")
    text = re.sub("(episodes|evaluation).*\n", "", text).replace("[3, 4]", '["broken", "calm"]')
    path, out = sweep_in(tmp_path, text.replace("epochs = 2", "epochs = 4")), tmp_path / "out"
    words = [str(path), "--out", str(out)]
    assert main(["sweep", "run", *words]) == 2
    assert capsys.readouterr().err.endswith(
        "fairgym: 1 of 4 runs failed: ZeroDivisionError: a bug (fate=broken, seed 0)\n"
    )
    with (out / "sweep.jsonl").open("a") as journal:
        journal.write("no line of ours\n[]\n")  # is passed over
    assert main(["sweep", "status", *words]) == 0
    text = capsys.readouterr().out
    assert "1 failed, 3 finished" in text and "fate=calm: 2 finished; 8 epochs" in text
    assert "    seed 0 failed: ZeroDivisionError: a bug\n" in text
    assert main(["sweep", "table", *words]) == 0
    assert "4 runs, 3 of them finished, 1 failed" in capsys.readouterr().out
    states = [(row["status"], row["reason"]) for row in read_csv(out / "table.csv")]
    assert sorted(states) == [("failed", "ZeroDivisionError: a bug"), *[("finished", "")] * 3]
    assert main(["sweep", "run", *words]) == 0
    assert "1 failed, 3 finished" in capsys.readouterr().out
    assert main(["sweep", "status", *words]) == 0
    text = capsys.readouterr().out
    assert "4 finished" in text and "failed" not in text


@pytest.fixture
def ctrl_c():
    """Python's own answer to Ctrl-C, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("words", in_tiers([[], ["--engine", "processes", "--workers", "2"]], []))
def test_ctrl_c_leaves_all_runs_to_be_resumed(
    tmp_path, monkeypatch, capsys, results, ctrl_c, words
):
    """Each update is made once, whatever was cut off, and the bits are those of whole runs."""
    monkeypatch.setenv("FATES", str(tmp_path))
    monkeypatch.setattr(devices, "configure", lambda: None)
    base = {"environment": "two_servers", "algorithm": "fated", "epochs": 40}
    plan = {"base": base, "grid": {"fate": ["one", "two"]}}
    path, out, updates = tmp_path / "plan.json", tmp_path / "out", tmp_path / "updates"
    path.write_text(json.dumps(plan))
    (tmp_path / "slow").touch()
    command = ["sweep", "run", str(path), "--out", str(out), *words]
    busy = 2 if words else 1

    def press():
        met = set()
        while len(met) < busy:
            time.sleep(0.02)
            lines = updates.read_text().splitlines() if updates.exists() else []
            met = {fate for _, fate, number in map(str.split, lines) if int(number) > 1}
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    assert main(command) == 130
    assert f"continue with: fairgym {' '.join(command)}" in capsys.readouterr().err
    (tmp_path / "slow").unlink()
    states = [entry.status for entry in entries_of(sweep_of(plan), out)]
    assert states == ["begun", "begun"] if words else ["begun", "waiting"]
    assert len(updates.read_text().splitlines()) < 80
    assert main(command) == 0
    assert "2 runs are finished" in capsys.readouterr().out
    done = Counter(tuple(line.split()[1:]) for line in updates.read_text().splitlines())
    assert done == {(fate, str(number)): 1 for fate in ("one", "two") for number in range(40)}
    whole = entries_of(sweep_of(plan), tmp_path / "whole")
    assert run_sweep(whole, tmp_path / "whole", Local(), _shown, print) == []
    for entry in whole:
        folder = entry.run.folder
        assert results(folder) == results(out / folder.relative_to(tmp_path / "whole"))


@pytest.mark.full
@pytest.mark.parametrize("engine", ["processes", "vmap"])
def test_engines_of_the_command_line(tmp_path, trained, capsys, results, engine):
    """Worker processes leave the bits of this process; vmap the same up to rounding."""
    path, alone = trained
    out, words = tmp_path / "out", ["--engine", engine, "--workers", "2"]
    assert main(["sweep", "run", str(path), "--out", str(out), *words]) == 0
    assert f"4 runs are finished in {out / 'runs'}" in capsys.readouterr().out
    rows, others = (results_of(entries_of(read_sweep(path), place)) for place in (out, alone))
    for row, other in zip(rows, others, strict=True):
        assert row["status"] == "finished" and row["epochs"] == 2
        assert row["score"] == pytest.approx(other["score"], abs=1e-4)
        if engine == "processes":
            assert results(Path(row["folder"])) == results(Path(other["folder"]))


def test_the_command_counts_what_is_finished(tmp_path, monkeypatch, capsys):
    """An engine that trains nothing and says nothing is found out."""
    monkeypatch.setattr(Local, "run", lambda self, planned, show, say: [])
    path, out = sweep_in(tmp_path), tmp_path / "out"
    assert main(["sweep", "run", str(path), "--out", str(out)]) == 2
    assert f"0 of 4 runs are finished in {out / 'runs'}; run it again" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "busy", "seconds", "assumed"),
    [
        # 4 runs of 2 epochs, 2 s each, and 2 programs, which take 8 s to compile
        ([], 1.0, 2 * 8 + 8 * 2, "one after another"),
        (["--engine", "vmap"], 1.0, 2 * 8 + 8 * 2, "if vmap is as fast as one after another"),
        (["--workers", "2"], 1.0, 8 + 4 * 2, "in 2 processes that share 2 processors"),
        (["--engine", "processes"], 1.0, 8 + 4 * 2, "in 2 processes that share 2 processors"),
        (["--workers", "9"], 1.0, 8 + 4 * 2, "in 4 processes that share 2 processors"),
        # a run that keeps both processors busy leaves none to another
        (["--workers", "2"], 2.0, 8 + 8 * 2, "in 2 processes that share 2 processors"),
        (["--engine", "ray", "--workers", "4"], 1.0, 8 + 2 * 2, "on a cluster of 4 processors"),
        (["--engine", "ray", "--workers", "4"], 2.0, 8 + 4 * 2, "on a cluster of 4 processors"),
        (["--engine", "ray"], 1.0, 8 + 4 * 2, "on a cluster of 2 processors"),
    ],
)
def test_a_dry_run_says_what_it_assumes(
    tmp_path, monkeypatch, capsys, words, busy, seconds, assumed
):
    monkeypatch.setattr(sweep, "_timed", lambda config, epochs: (10.0, 2.0, busy))
    monkeypatch.setattr(devices, "cores", lambda: 2)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1})
    path, out = sweep_in(tmp_path), tmp_path / "out"
    assert main(["sweep", "run", str(path), "--out", str(out), "--dry-run", *words]) == 0
    text = capsys.readouterr().out
    assert f"4 runs to train: about {seconds} seconds {assumed}" in text
    assert (
        f"assumed: every epoch takes 2.00 s and {busy} processors, and each of 2 programs 8 s to"
        " compile, as with horizon=3, seed 0" in text
    )


def _shown(one):
    return contextlib.nullcontext(lambda done, total, line: None)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_table_has_settings_seeds_metrics_and_folders(tmp_path, capsys, ending):
    path, out = sweep_in(tmp_path), tmp_path / "out"
    sweep = read_sweep(path)
    run_sweep(entries_of(sweep, out)[:3], out, Local(), _shown, print)
    file = tmp_path / f"table.{ending}"
    assert main(["sweep", "table", str(path), "--out", str(out), "--csv", str(file)]) == 0
    assert "4 runs, 3 of them finished" in capsys.readouterr().out
    rows = results_of(entries_of(sweep, out))
    assert [(row["horizon"], row["seed"], row["status"]) for row in rows] == [
        (3, 0, "finished"),
        (3, 1, "finished"),
        (4, 0, "finished"),
        (4, 1, "waiting"),
    ]
    if ending == "csv":
        with file.open() as stream:
            read = list(csv.DictReader(stream))
        assert read[3]["score"] == ""
    else:
        import pyarrow.parquet

        read = pyarrow.parquet.read_table(file).to_pylist()
        assert read[3]["score"] is None
    for row, found in zip(rows[:3], read, strict=False):
        summary = json.loads((out / row["folder"] / "summary.json").read_text())
        assert float(found["score"]) == row["score"] == summary["objective"]
        for name, value in summary["metrics"].items():
            assert float(found[f"metrics/{name}"]) == value


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A plan of four runs that are finished: its file, its folder."""
    folder = tmp_path_factory.mktemp("sweep")
    path, out = sweep_in(folder), folder / "out"
    run_sweep(entries_of(read_sweep(path), out), out, Local(), _shown, print)
    return path, out


def read_csv(path):
    with path.open() as stream:
        return list(csv.DictReader(stream))


def said_of(capsys, action, trained, *words):
    path, out = trained
    assert main(["sweep", action, str(path), "--out", str(out), *words]) == 0
    return capsys.readouterr().out


def test_policies_are_measured_anew_with_signed_gaps(trained, capsys):
    """As `Run.evaluate` measures them; a gap is a group's rate less that of the first."""
    said_of(capsys, "table", trained, "--episodes", "3")
    for row in read_csv(trained[1] / "table.csv"):
        evaluation = load(row["folder"]).evaluate(3, 1)
        assert float(row["score"]) == pytest.approx(evaluation.interval("objective")[0])
        for name, values in evaluation.metrics.items():
            assert float(row[f"metrics/{name}"]) == pytest.approx(float(np.mean(values)))
        served, arrived = (getattr(evaluation.totals, n) for n in ("served", "arrived"))
        gap = np.mean(served[:, 1] / arrived[:, 1] - served[:, 0] / arrived[:, 0])
        assert float(row["gap/served_gap/right"]) == pytest.approx(gap, abs=1e-6)
        left = float(np.mean(evaluation.mean_actions["router"]))
        assert float(row["actions/router/left"]) == pytest.approx(left)


def test_logs_have_the_gaps_that_a_table_without_episodes_shows(trained):
    """They are those of the last epoch's episodes, and of the disparity's size but for its sign."""
    for row in results_of(entries_of(read_sweep(trained[0]), trained[1])):
        line = load(row["folder"]).metrics[-1]
        assert row["gap/served_gap/right"] == line["gap/served_gap/right"] != 0.0
        assert abs(line["gap/served_gap/right"]) <= -line["metrics/served_gap"] + 1e-6


def test_gaps_leave_out_the_episodes_that_their_metric_leaves_out(tmp_path):
    """Where nobody comes to a queue, no share of them is served, which is no gap of 0 or 1."""
    sweep = sweep_of({"base": BASE | {"horizon": 3, "arrivals": 0.5}})
    entries = entries_of(sweep, tmp_path)
    assert run_sweep(entries, tmp_path, Local(), _shown, print) == []
    (row,) = results_of(entries, episodes=40)
    totals = load(row["folder"]).evaluate(40, 1).totals
    served, arrived = np.asarray(totals.served), np.asarray(totals.arrived)
    known = (arrived > 0).all(axis=1)
    assert 0 < known.sum() < 40
    rates = served[known] / arrived[known]
    gap = np.mean(rates[:, 1] - rates[:, 0])
    assert row["gap/served_gap/right"] == pytest.approx(gap, abs=1e-6)
    counted_as_none = np.mean(served / np.maximum(arrived, 1.0), axis=0) @ [-1.0, 1.0]
    assert abs(gap - counted_as_none) > 1e-3
    metric = -np.mean(np.abs(rates[:, 1] - rates[:, 0]))
    assert row["metrics/served_gap"] == pytest.approx(metric, abs=1e-6)


def test_a_table_of_settings(trained, capsys):
    text = said_of(capsys, "table", trained, "--rows", "setting")
    assert "2 settings of 4 runs" in text
    said_of(capsys, "table", trained)
    runs, settings = (read_csv(trained[1] / f"{name}.csv") for name in ("table", "settings"))
    for row in settings:
        values = [float(run["score"]) for run in runs if run["horizon"] == row["horizon"]]
        assert float(row["score"]) == pytest.approx(np.mean(values)) and row["seeds"] == "2"
        assert min(values) <= float(row["score/low"]) <= float(row["score/high"]) <= max(values)
        assert json.loads(row["score/values"]) == values
        assert ", ".join(f"{value:.4g}" for value in values) in text


def test_front_and_effects_from_the_command_line(trained, capsys):
    text = said_of(capsys, "pareto", trained, "--x", "waiting", "--y", "served_gap")
    assert "hypervolume" in text and "metrics/served_gap" in text
    front = read_csv(trained[1] / "pareto.csv")
    assert {row["horizon"] for row in front} == {"3", "4"}
    best = max(front, key=lambda row: float(row["metrics/waiting"]))
    assert best["on_front"] == "True"
    text = said_of(capsys, "effects", trained, "--measure", "waiting")
    (horizon, seeds) = read_csv(trained[1] / "effects.csv")
    assert (horizon["setting"], seeds["setting"]) == ("horizon", "seeds")
    assert float(horizon["share"]) + float(seeds["share"]) == pytest.approx(1.0)
    assert "metrics/waiting" in text and "shares overlap" not in text
    # two and two runs can be parted in three ways
    assert float(horizon["least_p"]) == pytest.approx(1 / 3)
    assert float(horizon["p"]) >= float(horizon["least_p"])
    assert horizon["clear"] == "False" and seeds["p"] == ""
    assert "cannot tell: with so few runs" in text


def test_the_page_opens_without_a_network(trained, capsys):
    said_of(capsys, "page", trained)
    page = (trained[1] / "page.html").read_text()
    assert "plan: a sweep" in page and "4 of 4 runs are finished, in 2 settings" in page
    assert page.count("<svg") == 1 and "Served gap" in page and "router" not in page
    assert re.search(r"\[0\.33, p [0-9.]+\]†", page) and "†: with so few runs" in page
    assert re.search(r"\[[−0-9.]+, [−0-9.]+\] \([−0-9.]+, [−0-9.]+\)", page)
    assert not re.search(r'(src|href)="http', page)


def test_status_is_watched_until_all_is_finished(tmp_path, monkeypatch, capsys):
    path, out = sweep_in(tmp_path), tmp_path / "out"
    entries = entries_of(read_sweep(path), out)
    left = [entries[:3], entries[3:]]

    def sleep(seconds):
        run_sweep(left.pop(0), out, Local(), _shown, print)

    monkeypatch.setattr("fairgym.cli.sweep.time", SimpleNamespace(sleep=sleep))
    assert main(["sweep", "status", str(path), "--out", str(out), "--watch"]) == 0
    text = capsys.readouterr().out
    assert text.count("4 runs: 2 settings") == 3 and left == []
    assert text.index("4 waiting") < text.index("3 finished, 1 waiting") < text.index("4 finished")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["table", "--rows", "seed"], "rows must be run or setting.*got 'seed'"),
        (["table", "--episodes", "-1"], "episodes must be a whole number from 0 to .*, got -1"),
        (["pareto", "--x", "score"], "x is 'score', y is None; pareto needs two"),
        (
            ["pareto", "--x", "score", "--y", "profit"],
            "y must be a measure of these runs .*, got 'profit'",
        ),
        (
            ["pareto", "--x", "score", "--y", "score", "--reference", "1"],
            "reference must be X,Y, .* got",
        ),
        (["pareto", "--x", "score", "--y", "score", "--reference", "1,nan"], "two finite numbers"),
        (
            ["effects", "--measure", "left"],
            "measure must be a measure of these runs .*, got 'left'",
        ),
        (
            ["effects", "--measure", "actions/router/right"],
            "measure must be a measure of these runs .*, got",
        ),
    ],
)
def test_bad_questions_are_told(trained, words, message, capsys):
    path, out = trained
    before = sorted(out.rglob("*"))
    assert main(["sweep", words[0], str(path), "--out", str(out), *words[1:]]) == 2
    assert re.search(message, capsys.readouterr().err)
    assert sorted(out.rglob("*")) == before


def test_other_endings_are_refused(tmp_path, capsys):
    path = sweep_in(tmp_path)
    words = ["sweep", "table", str(path), "--out", str(tmp_path / "o"), "--csv", "t.xlsx"]
    assert main(words) == 2
    assert (
        "csv must be a file that ends in .csv or .parquet, got 't.xlsx'" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["go"], "unknown action 'go'; sweep takes: run, status, table, pareto"),
        (["run"], "the plan must be one file.*got 'nothing'"),
        (["run", "no.toml"], "no.toml"),
    ],
)
def test_bad_words_are_told(words, message, capsys):
    assert main(["sweep", *words]) == 2
    assert re.search(message, capsys.readouterr().err)


def test_the_page_shows_a_plan_and_what_a_dry_run_says_of_it(tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text()
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("relief.toml").write_text(text)
    assert main(["sweep", "status", "relief.toml"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "12 runs: 4 settings, seeds 0 to 2" and said[0] in page
    assert said[1] == "differing: relief_effect, objective" and said[1] in page


@pytest.mark.full
def test_the_plans_of_the_page_about_objectives_are_sweeps():
    page = (Path(__file__).parents[2] / "docs" / "objectives.md").read_text()
    aims, own = (tomllib.loads(text) for text in re.findall(r"```toml\n(.*?)```", page, re.DOTALL))
    bounded, departments = sweep_of(aims), sweep_of(own)
    assert len(bounded.configs) == 7 and len(departments.configs) == 3
    assert f"7 settings of {7 * len(bounded.seeds)} runs" in page
    *_, each = departments.configs.values()
    for config in (*bounded.configs.values(), *departments.configs.values()):
        config.build()
    assert set(each.objectives) == {"admissions", "disbursement", "debt_management"}
