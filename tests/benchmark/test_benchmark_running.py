"""Running of the benchmark: stages, pieces, rows, and learners from outside."""

import contextlib
import dataclasses
import json
import shutil
import sys
from pathlib import Path

import paced
import pytest

from fairgym.algorithms import algorithms
from fairgym.benchmark import TIERS, Benchmark, learner_of, read_task, run_benchmark
from fairgym.benchmark import store as stores
from fairgym.benchmark.measuring import rows_of_rules
from fairgym.benchmark.presets import preset_of, tuned_of
from fairgym.benchmark.running import estimated_seconds
from fairgym.benchmark.store import merged, read_results, write_results
from fairgym.cli import main
from fairgym.cli.train import plan_of
from fairgym.core import FairgymError
from fairgym.sweeps import Local

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = dataclasses.replace(
    TIERS["full"], settings=3, tuning_seeds=2, seeds=2, rule_seeds=2, episodes=4, permutations=0
)
TIMES = ("seconds", "finished")


@pytest.fixture(autouse=True)
def two_servers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("two-servers-v0.toml").write_text(paced.TASK)
    Path("walker.toml").write_text(paced.LEARNER)


def benchmark(out="runs", learner="walker.toml", tier=SMALL):
    cells = [(read_task("two-servers-v0.toml"), learner_of(learner))]
    return Benchmark(tier, cells, Path(out), Path(f"{out}.csv"))


def silent(one):
    return contextlib.nullcontext(lambda done, total, line: None)


def run(found, hours=None):
    said = []
    failed, done = run_benchmark(found, Local(), silent, said.append, hours)
    assert failed == []
    return done, [text for text in said if not text.endswith(" s")]


def bits(rows):
    return [{name: x for name, x in row.items() if name not in TIMES} for row in rows]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The table of a cell with tuning of three settings, trained in one go."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "two-servers-v0.toml").write_text(paced.TASK)
    (folder / "walker.toml").write_text(paced.LEARNER)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done, stages = run(benchmark())
    assert done and stages[:3] == [
        f"two-servers-v0{rest}"
        for rest in (": fixed rules", ", walker: tuning", ", walker: frontier")
    ]
    return folder / "runs.csv"


def test_a_cell_is_tuned_and_the_chosen_setting_is_trained_at_all_levels(finished):
    rows, (cell,) = read_results(finished), benchmark().cells
    stages = [row["stage"] for row in rows]
    assert stages.count("tuning") == 6 and stages.count("frontier") == 4
    assert stages.count("rules") == 4  # the random policy and a rule, with two seeds
    assert {row["seed"] for row in rows if row["stage"] == "tuning"} == {"1000", "1001"}
    tuned = tuned_of(rows, *cell)
    assert tuned is not None
    assert stages.count("published") == (2 if tuned.chosen != "published" else 0)
    chosen = [row for row in rows if row["stage"] == "frontier"]
    assert {row["setting"] for row in chosen} == {tuned.chosen}
    assert all(json.loads(row["settings"]) == tuned.setting for row in chosen)
    assert {float(row["steps"]) for row in chosen} == {1_000.0}  # the whole budget
    scores = {name: sum(x) / len(x) for name, x in tuned.tried.items()}
    assert scores[tuned.chosen] == max(scores.values())


def test_two_runs_of_a_cell_give_the_same_bits_also_in_pieces(finished, monkeypatch):
    """Time is up after each stage."""
    pieces, done = benchmark("pieces"), False
    for _ in range(6):
        clock = iter([0.0, 0.0, *[4000.0] * 100])
        monkeypatch.setattr("fairgym.benchmark.running.time.monotonic", lambda c=clock: next(c))
        done, stages = run(pieces, hours=1.0)
        assert len(stages) <= 1
        if done:
            break
    assert done and bits(pieces.rows) == bits(read_results(finished))


def test_what_is_stored_is_not_trained_again(finished, monkeypatch):
    """Another machine has the table alone."""
    shutil.copy(finished, "runs.csv")
    plan = sys.modules["fairgym.sweeps.plan"]
    monkeypatch.setattr(plan, "train", lambda *args, **more: pytest.fail("trained"))
    assert run(benchmark()) == (True, [])
    assert Path("runs.csv").read_bytes() == finished.read_bytes()


def test_a_changed_task_or_setting_is_trained_anew(finished):
    shutil.copy(finished, "runs.csv")
    assert list(benchmark().stages()) == []
    Path("two-servers-v0.toml").write_text(paced.TASK.replace("steps = 1_000", "steps = 900"))
    assert next(benchmark().stages()).label == "two-servers-v0: fixed rules"
    Path("two-servers-v0.toml").write_text(paced.TASK)
    Path("walker.toml").write_text(paced.LEARNER.replace("low = 0.01", "low = 0.02"))
    assert next(benchmark().stages()).label == "two-servers-v0, walker: tuning"


def test_the_time_is_estimated_from_stored_speeds():
    """A stored run took 2 s for 100 steps; tuning is on a quarter of the budget."""
    found = benchmark()
    found.add(rows_of_rules(found.cells[0][0], SMALL))
    (task, learner), *_ = found.cells
    known = [paced.row(task, learner.name, "frontier", "0.2", 0, -0.5, 0.5)]
    assert estimated_seconds(found, []) == {
        "two-servers-v0, walker: tuning": None,
        "two-servers-v0, walker: frontier": None,
    }
    seconds = estimated_seconds(found, known)
    assert seconds["two-servers-v0, walker: tuning"] == pytest.approx(6 * 250 * 0.02)
    assert seconds["two-servers-v0, walker: frontier"] == pytest.approx(4 * 1000 * 0.02)


# ---------------------------------------------------------------- rows


def test_tables_merge_and_are_read_as_they_were_written(tmp_path):
    task = read_task("two-servers-v0.toml")
    one = paced.row(task, "a", "frontier", "0.2", 0, -0.5, 0.25)
    two = paced.row(task, "a", "frontier", "0.2", 1, 1.5, "")
    newer = one | {"reward": "-0.75"}
    write_results(tmp_path / "t.csv", [two, one])
    read = read_results(tmp_path / "t.csv")
    assert [float(row["reward"]) for row in read] == [-0.5, 1.5]
    assert read[1]["unfairness"] == "" and read[0]["settings"] == "{}"
    assert merged(read, [newer])[0]["reward"] == "-0.75" and len(merged(read, [newer])) == 2
    write_results(tmp_path / "again.csv", read)
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "t.csv").read_bytes()
    assert read_results(tmp_path / "none.csv") == []


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda text: text.replace("task,", "tisk,"), "has no column 'task'"),
        (lambda text: text.replace("-0.5", "half"), "line 2: could not convert"),
        (lambda text: text.replace("frontier", "backier"), "line 2: stage must be one of"),
        (lambda text: text.replace("-0.5", "-0.5,1"), "line 2: it has another number of cells"),
    ],
)
def test_a_table_of_something_else_is_refused(tmp_path, change, message):
    task, path = read_task("two-servers-v0.toml"), tmp_path / "t.csv"
    write_results(path, [paced.row(task, "a", "frontier", "0.2", 0, -0.5, 0.25)])
    path.write_text(change(path.read_text()))
    with pytest.raises(FairgymError, match=message):
        read_results(path)


# ---------------------------------------------------------------- the command


def command(*words):
    return main(["benchmark", *words, "--task", "two-servers-v0.toml"])


def test_a_learner_from_outside_gets_its_row(capsys):
    """Trained by the command, then in the table, which trains nothing."""
    assert command("run", "--algorithm", "paced:Paced", "--hours", "1") == 0
    out = capsys.readouterr().out
    assert "two-servers-v0, paced: frontier" in out and "runs/benchmark/quick.csv" in out
    assert command("table", "--tier", "quick") == 0
    shown = capsys.readouterr().out
    assert shown.count("paced") >= 4 and "Random policy" in shown
    assert command("table", "--tier", "quick", "--json") == 0
    found = json.loads(capsys.readouterr().out)["results"]
    rewards = [r for r in found if r["algorithm"] == "paced" and r["measure"] == "reward"]
    assert [r["level"] for r in rewards] == ["0.1", "0.5", "0.9"]
    assert all(r["n"] == 2 for r in rewards)
    # a bootstrap of two runs would be no interval
    assert all(r["low"] is None and r["high"] is None for r in rewards)
    assert command("run", "--algorithm", "paced:Paced", "--dry-run") == 0
    assert "0 stages" in capsys.readouterr().out


@pytest.mark.full
def test_the_example_of_a_custom_algorithm_gets_its_row(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    try:
        name = "own_algorithm:EvolutionStrategies"
        assert command("run", "--algorithm", name) == 0
        assert command("table", "--tier", "quick") == 0
        assert "evolution-strategies" in capsys.readouterr().out
    finally:
        algorithms._things.pop("evolution-strategies", None)
        sys.modules.pop("own_algorithm", None)


def test_a_learner_that_does_not_fit_is_told_why(capsys):
    assert command("run", "--algorithm", "toy") == 2
    out, err = capsys.readouterr()
    assert "two-servers-v0, toy does not fit: toy must have a method steps_per_update" in out
    assert "no learner fits a task" in err


# ---------------------------------------------------------------- presets


def tuned_rows(task, gain):
    """Tuning chose a random setting; on five seeds it is ahead of the published one by `gain`."""
    rows = []
    for name, reward in (("published", -0.8), ("random-1", -0.2)):
        settings = json.dumps({} if name == "published" else {"step": 0.7})
        own = {"setting": name, "settings": settings}
        rows += [
            paced.row(task, "walker", "tuning", "0.8", 1000 + s, reward, 0.5, **own) for s in (0, 1)
        ]
        stage = "published" if name == "published" else "frontier"
        for seed, noise in enumerate((0.0, 0.01, -0.01, 0.02, -0.02)):
            value = -0.5 + (0.0 if name == "published" else gain) + noise * (name == "published")
            rows.append(paced.row(task, "walker", stage, "0.8", seed, value, 0.5, **own))
    return rows


def test_settings_that_beat_the_published_ones_are_a_preset(tmp_path, monkeypatch):
    task, learner = read_task("two-servers-v0.toml"), learner_of("walker.toml")
    found, none = (tuned_of(tuned_rows(task, gain), task, learner) for gain in (0.2, 0.0))
    assert found is not None and none is not None
    # the score is the mean of reward and fairness in a box of length 1
    assert found.gain[0] == pytest.approx(0.1) and found.n == 5 and found.better
    assert found.chosen == "random-1" and found.preset["step"] == 0.7
    assert not none.better
    assert tuned_of([], task, learner) is None

    monkeypatch.setattr(stores, "FOLDER", tmp_path)
    write_results(tmp_path / "full.csv", tuned_rows(task, 0.2))
    module = "fairgym.benchmark.presets"
    monkeypatch.setattr(f"{module}.task_names", lambda: ["two-servers-v0.toml"])
    monkeypatch.setattr(f"{module}.learner_names", lambda: ["walker.toml"])
    assert preset_of("tuned", "two_servers", "paced") == {"walks": 10, "step": 0.7}
    words = ["two_servers", "--algorithm", "paced", "--preset", "tuned"]
    assert plan_of(words).config.algorithm_args["step"] == 0.7
    assert plan_of([*words, "--step", "0.1"]).config.algorithm_args["step"] == 0.1
    assert plan_of([*words, "--step", "0.1"]).config.algorithm_args["walks"] == 10
    with pytest.raises(FairgymError, match=r"no settings of f-macem for two-servers-v0"):
        preset_of("tuned", "two_servers", "f-macem")
    with pytest.raises(FairgymError, match=r"is for two_servers, got 'loan'"):
        preset_of("tuned:two-servers-v0.toml", "loan", "paced")
    with pytest.raises(FairgymError, match=r"preset must be tuned, tuned:TASK or authors, got"):
        preset_of("best", "two_servers", "paced")
