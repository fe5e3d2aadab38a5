"""A small experiment from command to page: reuse, resuming, sharing, errors."""

import contextlib
import dataclasses
import json
import re
from typing import ClassVar

import pytest
from matplotlib.figure import Figure
from stand_ins import stand_in

from fairgym.cli import main
from fairgym.core import FairgymError
from fairgym.experiments import (
    Check,
    Experiment,
    Outcome,
    Size,
    Table,
    _reproduce,
    experiments,
    reproduce,
)
from fairgym.experiments._base import run_config
from fairgym.experiments._markdown import Making, cut_words, page_text, training_time
from fairgym.experiments._measurements import held_out_run, score
from fairgym.sweeps import folder_name, plan
from fairgym.training import devices
from fairgym.training.run import Run

SMALL = Size(people=60, epochs=3, episodes=8, seeds=2)


def small(objective="uniform", **more):
    changes = {"environment_args": {"population": 60, "horizon": 20}}
    algorithm = {"algorithm_args": {**SMALL.training(), "hidden": 8, "evaluation_episodes": 2}}
    return run_config("loan", SMALL, objective, **changes, **algorithm, **more)


class Toy(Experiment):
    """Very small bank with two deposit rates: one compiled program."""

    title = "A toy"
    source = "nowhere"
    claim = "profit is a number"
    sizes: ClassVar = {"paper": dataclasses.replace(SMALL, people=1_000, seeds=5), "quick": SMALL}

    def notes(self):
        return "Nothing was tried."

    def grid(self, size):
        return {f"{rate}": small(params={"deposit_rate": rate}) for rate in (0.01, 0.03)}

    def measure(self, size, runs, seeds):
        return {
            key: score([held_out_run(run, 2) for run in some], some[0].objective)
            for key, some in runs.items()
        }

    def conclude(self, data):
        figure = Figure()
        figure.subplots().plot(data["0.01"])
        checks = [Check.above("above minus a thousand", data["0.01"], -1e3)]
        return Outcome({"": figure}, "A line.", [Table(["a"], [["b"]], "Letters.")], checks)


@pytest.fixture(autouse=True, scope="module")
def toys():
    """Register two toys that share their runs."""
    experiments.register("toy")(Toy)
    experiments.register("toy-too")(type("Too", (Toy,), {}))
    yield
    for name in ("toy", "toy-too"):
        experiments._things.pop(name)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Reproduce the toy in one go; do not write to this folder."""
    out = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(devices, "configure", lambda: None)
        assert main(["reproduce", "toy", "--out", str(out)]) == 0
    return out


class Watched:
    """`shown` that records what is trained, and may interrupt."""

    def __init__(self, stop=None):
        self.labels, self.epochs, self.stop = [], 0, stop

    @contextlib.contextmanager
    def __call__(self, label):
        self.labels.append(label)

        def progress(epoch, epochs, line):
            self.epochs += line is not None
            if self.epochs == self.stop:
                raise KeyboardInterrupt

        yield progress


def policies(out):
    return {p.relative_to(out): p.read_bytes() for p in sorted((out / "runs").rglob("policy.eqx"))}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mafe-fig7", "paper scale: fewer people than the 10,000 that MAFE's normalisers suggest"),
        (
            "mafe-table9",
            "paper scale: the number of people is not published, and is the 10,000 that MAFE's"
            " normalisers suggest",
        ),
        ("fairqcm-fig1", "paper scale"),
    ],
)
def test_fewer_people_than_inferred_count_as_a_cut(name, words):
    experiment = experiments.get(name)()
    making = Making(name, "paper", experiment.sizes["paper"], False, 0.0, 0, 0.0)
    assert cut_words(experiment, making) == words


def test_a_page_without_checks_has_no_section_on_them():
    experiment = experiments.get("fairqcm-tuning")()
    making = Making("fairqcm-tuning", "paper", experiment.sizes["paper"], False, 0.0, 0, 0.0)
    page = page_text(experiment, Outcome({}, "Dots.", [], []), making, {})
    assert "**Verdict: no prediction** (no checks; paper scale)" in page
    assert "Checks of the claim" not in page and "A check holds" not in page


def test_the_page_tells_everything(whole):
    page = (whole / "toy-quick.md").read_text()
    for text in (
        "# A toy",
        "**Verdict: holds** (1 of 1 predicted checks hold; quick scale)",
        "**Claim** (nowhere): profit is a number",
        "fairgym reproduce toy --scale quick\n",
        "| above minus a thousand |",
        "| predicted | holds |",
        "Letters.",
        "Quick scale: 60 people instead of 1,000; 2 seeds instead of 5.",
        "2 seeds (0 to 1)",
        "to train 4 runs",
        "Runs: jax ",
        "60 is this project's choice",
        "## Notes on the paper scale\n\nNothing was tried.",
    ):
        assert text in page
    (link,) = re.findall(r"!\[A toy\]\((.*)\)", page)
    assert (whole / link).read_bytes().startswith(b"\x89PNG")
    assert str(whole) not in page


def test_pauses_do_not_count_as_training():
    run = stand_in(Run, metrics=[{"wall_time_s": t} for t in (9.0, 11.0, 13.0, 113.0, 115.0)])
    assert training_time(run) == 2.0 * 5
    assert training_time(stand_in(Run, metrics=[])) == 0.0


def test_runs_have_readable_folders_by_configuration(whole):
    folders = sorted((whole / "runs").iterdir())
    assert len(folders) == 2
    assert all(re.fullmatch("loan-f-macem-uniform-[0-9a-f]{10}", f.name) for f in folders)
    for folder in folders:
        assert [f.name for f in sorted(folder.iterdir())] == ["seed-0", "seed-1"]
    config = small().build().config
    assert folder_name(config) in [f.name for f in folders]
    assert folder_name(dataclasses.replace(config, seed=7)) == folder_name(config)
    other = small(params={"deposit_rate": 0.02}).build().config
    assert folder_name(other) not in [f.name for f in folders]
    weighed = small("frontier:0.5").build().config
    assert folder_name(weighed).startswith("loan-f-macem-frontier-0.5-")
    alone = small(fixed={"admissions": 0.0}).build().config
    assert "-only-disbursement-debt_management-" in folder_name(alone)


def test_finished_runs_are_reused_and_shared(whole, tmp_path):
    before = policies(whole)
    watched, said = Watched(), []
    results = reproduce(
        ["toy", "toy-too"], out=whole, pages=tmp_path, shown=watched, say=said.append
    )
    assert watched.labels == [] and said[0] == f"4 runs in {whole / 'runs'}, 4 of them finished"
    assert policies(whole) == before
    assert [r.page for r in results] == [tmp_path / "toy-quick.md", tmp_path / "toy-too-quick.md"]
    assert results[1].figures == (tmp_path / "images" / "toy-too-quick.png",)


class Later(Toy):
    """Toy with one more run, whose rate depends on the first runs."""

    following = 1

    def grid(self, size):
        return {"0.01": small(params={"deposit_rate": 0.01})}

    def then(self, size, runs):
        assert all(run.summary for run in runs["0.01"])
        best = max(run.summary["objective"] for run in runs["0.01"])
        return {"later": small(params={"deposit_rate": 0.02 if best > -1e3 else 0.04})}


def test_runs_that_follow_from_others_are_made_after_them(tmp_path):
    experiments.register("toy-later")(Later)
    watched = Watched()
    try:
        (result,) = reproduce(["toy-later"], out=tmp_path, shown=watched, say=lambda _: None)
    finally:
        experiments._things.pop("toy-later")
    assert [label[:10] for label in watched.labels] == [
        "run 1 of 4",
        "run 2 of 4",
        "run 3 of 4",
        "run 4 of 4",
    ]
    assert "to train 4 runs" in result.page.read_text()
    rates = {
        json.loads(path.read_text())["params"]["deposit_rate"]
        for path in (tmp_path / "runs").rglob("config.json")
    }
    assert rates == {0.01, 0.02}


def test_runs_beyond_those_known_in_advance_are_counted(tmp_path, monkeypatch, capsys):
    class Pretend:
        def run(self, planned, show, say):
            for one in planned:
                with show(one):
                    pass
            return []

    monkeypatch.setattr(_reproduce, "loaded", lambda planned: {})
    train = _reproduce._Training(Pretend(), None, print, total=1)
    for seeds in (1, 3):  # nothing is trained, so that the second time all three are to be made
        train(plan({"toy": small()}, {"toy": range(seeds)}, tmp_path))
    done = [line.split(":")[0] for line in capsys.readouterr().out.splitlines() if "done" in line]
    assert done == ["2 of 4 runs done", "3 of 4 runs done", "4 of 4 runs done"]


def test_an_interrupted_reproduction_goes_on_where_it_stopped(whole, tmp_path):
    stopped = Watched(stop=5)  # in the second epoch of the second run
    with pytest.raises(KeyboardInterrupt):
        reproduce(["toy"], out=tmp_path, shown=stopped, say=lambda _: None)
    assert stopped.labels == [
        "run 1 of 4: loan, f-macem, uniform, deposit rate 0.01, seed 0",
        "run 2 of 4: loan, f-macem, uniform, deposit rate 0.01, seed 1",
    ]
    assert not (tmp_path / "toy-quick.md").exists()
    again = Watched()
    reproduce(["toy"], out=tmp_path, shown=again, say=lambda _: None)
    assert [label.split(":")[0] for label in again.labels] == [f"run {n} of 4" for n in (2, 3, 4)]
    assert again.epochs == 1 + 3 + 3
    assert policies(tmp_path) == policies(whole)


def test_another_number_of_seeds_adds_runs(whole, tmp_path):
    for path in whole.rglob("config.json"):
        copy = tmp_path / path.parent.relative_to(whole)
        copy.mkdir(parents=True)
        for name in ("config.json", "metrics.jsonl", "policy.eqx", "summary.json"):
            (copy / name).write_bytes((path.parent / name).read_bytes())
        assert json.loads((copy / "summary.json").read_text())["epochs"] == 3
    watched = Watched()
    reproduce(["toy"], seeds=3, out=tmp_path, shown=watched, say=lambda _: None)
    assert len(watched.labels) == 2 and all("seed 2" in label for label in watched.labels)
    assert "--scale quick --seeds 3\n" in (tmp_path / "toy-quick.md").read_text()


def test_a_folder_with_something_else_is_safe(tmp_path):
    name = folder_name(small().build().config)
    folder = tmp_path / "runs" / name / "seed-0"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(FairgymError, match="is not a fairgym run"):
        reproduce(["toy"], out=tmp_path, shown=Watched(), say=lambda _: None)
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["notes.txt"]


# ---------------------------------------------------------------- the command


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(devices, "configure", lambda: None)
    (tmp_path / "file").write_text("mine")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "no experiment is given; there are: .*mafe-fig5, .*mafe-fig10"),
        ("mafe-fig99", "unknown experiment 'mafe-fig99'; did you mean 'mafe-fig9'"),
        ("toy mafe-fig99", "unknown experiment 'mafe-fig99'"),
        ("toy --scale huge", "scale must be one of .*, got 'huge'"),
        ("toy --seeds 1", "seeds must be a whole number from 2 to 1,000 .*, got 1"),
        ("toy --seeds many", "seeds must be a whole number .*, got 'many'"),
        ("toy --out file", "out must be a folder, got the file 'file'"),
        ("toy --pages file", "pages must be a folder, got the file 'file'"),
        ("toy --pages file/pages", "pages cannot be written .Not a directory"),
        ("toy --sedes 2", "unknown flag '--sedes'; did you mean '--seeds'"),
        ("toy --list", "--list takes no names, got 'toy'"),
    ],
)
def test_bad_input_is_one_sentence(words, message, capsys, here):
    assert main(["reproduce", *words.split()]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1 and re.search(message, err)
    assert [path.name for path in here.iterdir()] == ["file"]


def test_the_list_names_all_in_the_order_of_their_numbers(capsys, here):
    assert main(["reproduce", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = [line.split()[0] for line in lines]
    assert names.index("mafe-fig9") + 1 == names.index("mafe-fig10")
    assert any(re.match(r"toy +A toy \(nowhere\)$", line) for line in lines)


def test_the_command_ends_with_verdict_and_places(whole, capsys, here):
    assert main(["reproduce", "toy", "--out", str(whole), "--pages", "pages"]) == 0
    out = capsys.readouterr().out
    assert "4 runs in" in out and "4 of them finished" in out
    assert "toy: holds (1 of 1 predicted checks hold)\n" in out
    assert "  holds         above minus a thousand: " in out
    assert "quick scale: 60 people instead of 1,000" in out
    assert "page    pages/toy-quick.md" in out and "figure  pages/images/toy-quick.png" in out
    assert (here / "pages" / "toy-quick.md").is_file()


def test_ctrl_c_says_how_to_go_on(monkeypatch, capsys, here):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("fairgym.experiments.reproduce", stop)
    assert main("reproduce toy --seeds 2 --out x".split()) == 130
    err = capsys.readouterr().err
    assert err == "interrupted; continue with: fairgym reproduce toy --seeds 2 --out x\n"
