"""Which folders hold runs, by one rule for every command."""

import shutil
from pathlib import Path

import pytest
from toy_algorithm import toy_config

import fairgym
from fairgym.core import FairgymError
from fairgym.sweeps import train_seeds
from fairgym.training import train
from fairgym.training.folder import RunFolder, run_folders, seed_folder, seed_of
from fairgym.training.run import load_runs


def run_in(folder):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    return folder


def test_seed_folders_are_named_by_their_seed(tmp_path):
    assert seed_folder(tmp_path, 7) == tmp_path / "seed-7"
    for seed in (0, 7, 2**32 - 1):
        assert seed_of(seed_folder("runs/x", seed)) == seed
    for name in ("seed", "seed-", "seed-a", "seed--1", "seed-1.old", "seeds-1", "my-seed-1"):
        assert seed_of(Path("runs") / name) is None


def test_a_folder_of_seeds_stands_for_its_runs_in_order(tmp_path):
    for seed in (10, 9, 2):
        run_in(seed_folder(tmp_path, seed))
    run_in(tmp_path / "seed-1.old")
    seed_folder(tmp_path, 3).mkdir()  # a run that never began
    (tmp_path / "seed-4").write_text("a file")
    expected = [seed_folder(tmp_path, seed) for seed in (2, 9, 10)]
    assert RunFolder(tmp_path).seeds == run_folders(tmp_path) == expected
    assert run_folders(str(tmp_path)) == expected


def test_other_folders_stand_for_themselves(tmp_path):
    run = run_in(tmp_path / "run")
    run_in(seed_folder(run, 0))
    empty = tmp_path / "empty"
    empty.mkdir()
    for folder in (run, empty, tmp_path / "nowhere", run / "config.json"):
        assert RunFolder(folder).seeds == []
        assert run_folders(folder) == [folder]


def test_load_takes_the_folder_of_several_seeds(tmp_path):
    train_seeds(toy_config(), tmp_path / "x", [3, 0])
    assert fairgym.load(tmp_path / "x", seed=3).config.seed == 3
    assert fairgym.load(tmp_path / "x", 0).folder == tmp_path / "x" / "seed-0"
    assert [run.config.seed for run in fairgym.load_runs(tmp_path / "x")] == [0, 3]
    every = r"seed is not given; the runs in .*x have the seeds 0, 3; fairgym.load_runs loads"
    for seed, message in ((None, every), (7, r"seed is 7; the runs in .*x have the seeds 0, 3$")):
        with pytest.raises(FairgymError, match=message):
            fairgym.load(tmp_path / "x", seed)
    one = tmp_path / "x" / "seed-3"
    assert fairgym.load(one).config == fairgym.load(one, seed=3).config
    with pytest.raises(FairgymError, match=r"seed is 0, but the run in .*seed-3 has seed 3"):
        fairgym.load(one, seed=0)
    shutil.rmtree(one)
    assert fairgym.load(tmp_path / "x").config.seed == 0, "the only one there is"


def test_several_folders_are_read_back(tmp_path):
    finished = train(toy_config(), tmp_path / "run")
    (tmp_path / "many").mkdir()
    seed_folder(tmp_path / "many", 0).symlink_to(finished.folder)
    runs = load_runs(finished.folder, tmp_path / "many")
    assert [run.folder for run in runs] == [finished.folder, tmp_path / "many" / "seed-0"]
    assert runs[0].config == runs[1].config == finished.config
    with pytest.raises(FairgymError, match="no run folder is given"):
        load_runs()
    with pytest.raises(FairgymError, match="nowhere is not a folder"):
        load_runs(finished.folder, tmp_path / "nowhere")
