"""Extended runs have the same bits as runs that were this long from the start."""

import dataclasses
import shutil

import pytest
from kills import killed_before
from toy_algorithm import Toy, toy_config

from fairgym.cli import main
from fairgym.core import FairgymError
from fairgym.sweeps import train_seeds
from fairgym.training import devices, load, train
from fairgym.training.folder import RunFolder

# Renames and deletions while a run of two epochs is extended to five with every checkpoint.
MOMENTS = 29


@pytest.fixture(scope="module")
def whole(tmp_path_factory, results):
    """Results of uninterrupted runs of two and five epochs, and the folder of the longer one."""
    folder = tmp_path_factory.mktemp("whole")
    train(toy_config(epochs=2), folder / "short")
    train(toy_config(epochs=5), folder / "long")
    return results(folder / "short"), results(folder / "long"), folder / "long"


def interrupt(epoch, epochs, line):
    if epoch == 3:
        raise KeyboardInterrupt


def nothing_is_left(folder):
    return not [path for path in folder.rglob("*") if path.name.startswith(".")]


def test_a_finished_run_goes_on_from_its_last_checkpoint(tmp_path, results, whole):
    _, longer, straight = whole
    train(toy_config(epochs=2), tmp_path)
    begun_with = load(tmp_path).provenance
    began = []
    run = train(
        toy_config(epochs=5), tmp_path, resume=True, progress=lambda epoch, *_: began.append(epoch)
    )
    assert began == [2, 3, 4, 5], "nothing is trained again"
    assert results(tmp_path) == longer
    assert run.config == load(straight).config and run.provenance == begun_with
    newest = RunFolder(tmp_path).checkpoints.paths()[0]
    assert newest.read_bytes() == RunFolder(straight).checkpoints.paths()[0].read_bytes()
    assert nothing_is_left(tmp_path)
    assert train(toy_config(epochs=5), tmp_path, resume=True).summary == run.summary, "it is done"


def test_f_macem_extended_is_f_macem_trained_in_one_go(tmp_path, small, finished, results):
    """The last updates of an extended run are those of a run with as many epochs from the start."""
    arguments = {**small.algorithm_args, "epochs": 2}
    train(dataclasses.replace(small, algorithm_args=arguments), tmp_path)
    train(small, tmp_path, resume=True)
    assert results(tmp_path) == results(finished.folder)


@pytest.mark.parametrize("moment", range(1, MOMENTS + 2))
def test_killed_at_any_moment(tmp_path, moment, results, whole):
    """Kill before each rename and deletion: the old run is whole, or the longer one is finished."""
    short, longer, _ = whole
    shutil.copytree(whole[2].parent / "short", tmp_path, dirs_exist_ok=True)
    with killed_before(moment) as killed:
        train(toy_config(epochs=5), tmp_path, resume=True, checkpoint_seconds=0)
    assert bool(killed) == (moment <= MOMENTS)
    if (tmp_path / "summary.json").exists():
        assert results(tmp_path) in (short, longer)
        assert load(tmp_path).policies
    if RunFolder(tmp_path).current.read_config().config == load(whole[2]).config:
        train(load(whole[2]).config, tmp_path, resume=True)  # it was begun, and is whole
        assert results(tmp_path) == longer
    else:
        train(toy_config(epochs=2), tmp_path, resume=True)
        assert results(tmp_path) == short and nothing_is_left(tmp_path)
    train(toy_config(epochs=5), tmp_path, resume=True)
    assert results(tmp_path) == longer and nothing_is_left(tmp_path)


def test_the_old_run_stands_until_the_longer_one_is_finished(tmp_path, results, whole):
    short, longer, _ = whole
    train(toy_config(epochs=2), tmp_path)
    with pytest.raises(KeyboardInterrupt):
        train(toy_config(epochs=5), tmp_path, resume=True, progress=interrupt)
    assert results(tmp_path) == short and load(tmp_path).policies
    for epochs, takes in ((2, "5 or more"), (9, "5 until that run has finished")):
        with pytest.raises(FairgymError, match=rf"is {epochs}, but .*resume needs {takes}$"):
            train(toy_config(epochs=epochs), tmp_path, resume=True)
    began = []
    train(
        toy_config(epochs=5), tmp_path, resume=True, progress=lambda epoch, *_: began.append(epoch)
    )
    assert began[0] == 3 and results(tmp_path) == longer


def test_a_run_that_was_cut_off_is_extended_too(tmp_path, results, whole):
    with pytest.raises(KeyboardInterrupt):
        train(toy_config(epochs=4), tmp_path, progress=interrupt)
    train(toy_config(epochs=5), tmp_path, resume=True)
    assert results(tmp_path) == whole[1] and nothing_is_left(tmp_path)


def test_only_longer_runs_extend(tmp_path, monkeypatch, results, whole):
    train(toy_config(epochs=2), tmp_path)
    for changes, message in (
        ({"epochs": 1}, r"epochs is 1, but the run in .* has 2; resume needs 2 or more$"),
        ({"epochs": 5, "seed": 3}, r"seed is 3, but .*resume needs the same configuration$"),
        ({"epochs": 5, "step": 0.2}, r"step is 0.2, but .*resume needs the same configuration$"),
        ({"epochs": 2, "step": 0.2}, r"step is 0.2, but .*resume needs the same configuration$"),
    ):
        given = {"epochs": 5} | changes
        with pytest.raises(FairgymError, match=message):
            train(toy_config(**given), tmp_path, resume=True)
    monkeypatch.setattr(Toy, "extended_by", "")  # as where a schedule depends on the total
    with pytest.raises(FairgymError, match=r"epochs is 5, but .*resume needs the same config"):
        train(toy_config(epochs=5), tmp_path, resume=True)
    assert results(tmp_path) == whole[0] and nothing_is_left(tmp_path)


def test_an_edited_configuration_is_not_extended(tmp_path):
    """The checkpoints were made with another configuration than config.json has."""
    train(toy_config(epochs=2), tmp_path)
    config = tmp_path / "config.json"
    config.write_text(config.read_text().replace('"seed": 0', '"seed": 7'))
    with pytest.raises(FairgymError, match=r"seed is 7 in config\.json, but .*was made with 0"):
        train(toy_config(epochs=5, seed=7), tmp_path, resume=True)
    assert not (tmp_path / ".replacement" / "config.json").exists()


def test_every_seed_is_extended(tmp_path, results):
    train_seeds(toy_config(epochs=2), tmp_path / "x", [0, 3])
    train_seeds(toy_config(epochs=5), tmp_path / "x", [0, 3, 4], resume=True)
    train_seeds(toy_config(epochs=5), tmp_path / "straight", [0, 3, 4])
    for seed in (0, 3, 4):
        extended, straight = (tmp_path / root / f"seed-{seed}" for root in ("x", "straight"))
        assert results(extended) == results(straight)


def test_the_command_extends_a_run_and_the_runs_of_seeds(tmp_path, monkeypatch, capsys, whole):
    monkeypatch.setattr(devices, "configure", lambda: None)
    train(toy_config(epochs=2), tmp_path / "one")
    train_seeds(toy_config(epochs=2), tmp_path / "seeds", [0, 1])
    assert main(["train", "--resume", "--out", str(tmp_path / "one"), "--epochs", "5"]) == 0
    assert main(
        ["train", "--resume", "--out", str(tmp_path / "seeds"), "--seeds", "0:2", "--epochs", "5"]
    ) == 0  # fmt: skip
    assert capsys.readouterr().out.count("after 5 epochs") == 3
    assert main(["train", "--resume", "--out", str(tmp_path / "one"), "--epochs", "3"]) == 2
    assert "resume needs 5 or more" in capsys.readouterr().err
