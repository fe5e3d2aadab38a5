"""Run folders under attack: links, races, full disks, edited files."""

import contextlib
import errno
import hashlib
import json
import os
import shutil
import stat
import threading
from pathlib import Path

import numpy as np
import pytest
from kills import killed_before
from toy_algorithm import toy_config

from fairgym.core import FairgymError
from fairgym.training import checkpoint, load, train
from fairgym.training.folder import RunFolder

# ------------------------------------------------------------------ links


@pytest.mark.parametrize("flags", [{}, {"resume": True}, {"overwrite": True}])
def test_linked_checkpoints_are_not_followed(tmp_path, flags):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "epoch-00000001.eqx").write_text("mine")
    out = tmp_path / "run"
    if flags:
        train(toy_config(), out)
        for path in RunFolder(out).checkpoints.paths():
            path.unlink()
        (out / "checkpoints").rmdir()
    else:
        out.mkdir()
    (out / "checkpoints").symlink_to(mine)
    with pytest.raises(
        FairgymError, match=r"something that is not|checkpoints must be a folder, got a link"
    ):
        train(toy_config(), out, **flags)
    assert [p.name for p in mine.iterdir()] == ["epoch-00000001.eqx"]
    assert (mine / "epoch-00000001.eqx").read_text() == "mine"


# ------------------------------------------------------------------ who holds the lock


def test_who_does_not_get_the_lock_deletes_nothing(tmp_path):
    folder = RunFolder(tmp_path / "x")
    with folder.held():
        for _ in range(2):
            with pytest.raises(FairgymError, match="another process is training"):
                with RunFolder(tmp_path / "x").held():
                    pass
        assert folder.checkpoints.folder.is_dir()
    assert not folder.path.exists(), "the holder began nothing"


def test_a_folder_that_is_gone_once_it_is_locked_is_made_again(tmp_path, monkeypatch):
    """The previous holder may delete the folder after we open it and before we lock it."""
    import fcntl

    folder, lock, gone = RunFolder(tmp_path / "x"), fcntl.flock, []

    def flock(handle, how):
        if not gone:
            gone.append(folder.path.rmdir())
        return lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    with folder.held():
        assert gone and folder.path.is_dir()
        with pytest.raises(FairgymError, match="another process is training"):
            with RunFolder(tmp_path / "x").held():
                pass


def test_a_folder_that_is_deleted_while_it_is_made_is_made_again(tmp_path, monkeypatch):
    """Simulate pathlib: the folder exists, but is deleted before its type is checked."""
    make, calls = Path.mkdir, []

    def mkdir(self, *args, **kwargs):
        calls.append(self)
        if len(calls) == 1:
            raise FileExistsError(17, "File exists", str(self))
        make(self, *args, **kwargs)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with RunFolder(tmp_path / "x").held():
        assert (tmp_path / "x" / "checkpoints").is_dir()


def test_two_never_hold_one_folder_in_200_races(tmp_path):
    """Locks belong to open files, so threads race like processes."""
    inside, most, held, errors = 0, 0, 0, []
    guard = threading.Lock()

    def race(path, start, begins):
        nonlocal inside, most, held
        start.wait()
        try:
            with RunFolder(path).held():
                with guard:
                    inside += 1
                    held += 1
                    most = max(most, inside)
                assert RunFolder(path).checkpoints.folder.is_dir()
                if begins:
                    (path / "config.json").write_text("{}")
                with guard:
                    inside -= 1
        except BaseException as error:
            if "another process is training" not in str(error):
                errors.append(error)

    for number in range(200):
        path, start = tmp_path / f"run-{number}", threading.Barrier(4)
        racers = [threading.Thread(target=race, args=(path, start, n == 0)) for n in range(4)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
    assert not errors and most == 1 and held >= 200


# ------------------------------------------------------------------ replaced only by a whole run


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with an old and a new run, trained separately; tests copy it."""
    folder = tmp_path_factory.mktemp("whole")
    train(toy_config(), folder / "old")
    train(toy_config(seed=1, epochs=2), folder / "new")
    return folder


@pytest.fixture(scope="module")
def whole(trained, results):
    """Return the results of both runs."""
    return results(trained / "old"), results(trained / "new")


@pytest.mark.parametrize("after", [0, 1, 2, 3, 5, 6, 7, 8])
def test_overwrite_on_a_full_disk_keeps_the_finished_run(
    tmp_path, monkeypatch, after, results, trained, whole
):
    old, new = whole
    shutil.copytree(trained / "old", tmp_path, dirs_exist_ok=True)
    (tmp_path / "notes.txt").write_text("mine")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    sync, calls = os.fsync, iter(range(1000))

    def fsync(handle):
        if stat.S_ISREG(os.fstat(handle).st_mode) and next(calls) >= after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    new_config = toy_config(seed=1, epochs=2)
    try:
        train(new_config, tmp_path, overwrite=True, checkpoint_seconds=0)
        finished = True
    except FairgymError as error:
        finished = False
        assert "No space left on device); its previous content is unchanged" in str(error)
        now = {p: p.read_bytes() for p in before}
        assert now == before and results(tmp_path) == old
        assert load(tmp_path).config.seed == 0 and load(tmp_path).policies
    monkeypatch.undo()
    assert finished == (after >= 8), "config, log, 2 x (line, checkpoint), policy, summary"
    if not finished:
        trained = after > 2  # an epoch
        assert (tmp_path / ".replacement").exists() == trained, "nothing is left of no epoch"
        if trained:
            with pytest.raises(FairgymError, match=r"seed is 0, but .*replacement has 1"):
                train(toy_config(), tmp_path, resume=True)
            train(new_config, tmp_path, resume=True)
        else:
            train(new_config, tmp_path, overwrite=True)
    assert results(tmp_path) == new
    names = {p.name for p in tmp_path.rglob("*")}
    assert not [name for name in names if name.startswith(".")]
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert RunFolder(tmp_path).checkpoints.paths()[0].name == "epoch-00000002.eqx"


@pytest.mark.parametrize("moment", range(1, 22))
def test_overwrite_killed_at_any_moment(tmp_path, moment, results, trained, whole):
    """Kill before each rename and deletion: the old run is whole, or the new one is finished."""
    old, new = whole
    shutil.copytree(trained / "old", tmp_path, dirs_exist_ok=True)
    config = toy_config(seed=1, epochs=2)
    with killed_before(moment):
        train(config, tmp_path, overwrite=True, checkpoint_seconds=0)
    if (tmp_path / "summary.json").exists():
        assert results(tmp_path) in (old, new)
    if RunFolder(tmp_path).current.read_config().config.seed == 1:  # the new one was begun
        train(config, tmp_path, resume=True)
        assert results(tmp_path) == new
    assert results(tmp_path) in (old, new)
    train(config, tmp_path, overwrite=True)
    assert results(tmp_path) == new
    assert not [p for p in tmp_path.rglob(".*")]


def test_an_interrupted_replacement_is_continued_or_begun_anew(tmp_path, results, whole):
    old, new = whole
    train(toy_config(), tmp_path)

    def interrupt(epoch, epochs, line):
        if epoch == 1:
            raise KeyboardInterrupt

    config = toy_config(seed=1, epochs=2)
    for again in (config, toy_config(seed=2), config):
        with pytest.raises(KeyboardInterrupt):
            train(again, tmp_path, overwrite=True, progress=interrupt)
        assert results(tmp_path) == old
        assert RunFolder(tmp_path).current.read_config().config.seed == again.seed
    began = []
    train(config, tmp_path, resume=True, progress=lambda epoch, *_: began.append(epoch))
    assert began[0] == 1 and results(tmp_path) == new


def test_a_linked_replacement_is_not_followed(tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    train(toy_config(), tmp_path / "x")
    (tmp_path / "x" / ".replacement").symlink_to(mine)
    with pytest.raises(FairgymError, match="replacement must be a folder, got a link"):
        train(toy_config(), tmp_path / "x", overwrite=True)
    assert not list(mine.iterdir())


# ------------------------------------------------------------------ edited files


def edit(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


EDITS = {
    "seed": lambda c: c.update(seed=7),
    "params.arrivals": lambda c: c["params"].update(arrivals=3.0),
    "algorithm_args.step": lambda c: c["algorithm_args"].update(step=0.2),
    "algorithm_args.epochs": lambda c: c["algorithm_args"].update(epochs=9),
    "environment_args.horizon": lambda c: c["environment_args"].update(horizon=7),
    "objective": lambda c: c.update(objective="direct"),
}


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("field", EDITS)
def test_an_edited_configuration_is_told_and_refused(tmp_path, field, finished):
    def interrupt(epoch, epochs, line):
        if epoch == 3 and not finished:
            raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        train(toy_config(), tmp_path, progress=interrupt)
    edit(tmp_path / "config.json", EDITS[field])
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    edited = load(tmp_path)
    message = rf"{field} is .* in config\.json, but .*\.eqx was made with .*; restore the"
    with pytest.raises(FairgymError, match=message):
        train(edited.config, tmp_path, resume=True)
    with pytest.raises(FairgymError, match=message):
        print(edited.policies)
    assert before == {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}


def rewritten(content, change):
    """Write a file of arrays with another header and a matching checksum."""
    _, header, payload = content.split(b"\n", 2)
    fields = json.loads(header)
    fields = change(fields) or fields
    body = json.dumps(fields).encode() + b"\n" + payload
    return f"{checkpoint.MARK} {hashlib.sha256(body).hexdigest()}\n".encode() + body


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.pop("epoch") and None,
        lambda header: header.update(epoch="many"),
        lambda header: header.update(epoch=True),
        lambda header: header.update(epoch=-1),
        lambda header: header.update(epoch=10**400),
        lambda header: [1],
        lambda header: header.update(config=3),
        lambda header: header.pop("config") and None,
    ],
)
def test_odd_headers_are_damage(tmp_path, change, results):
    def interrupt(epoch, epochs, line):
        if epoch == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(toy_config(), tmp_path / "x", progress=interrupt, checkpoint_seconds=0)
    newest, _ = RunFolder(tmp_path / "x").checkpoints.paths()
    newest.write_bytes(rewritten(newest.read_bytes(), change))
    began = []
    train(toy_config(), tmp_path / "x", resume=True, progress=lambda epoch, *_: began.append(epoch))
    assert began[0] == 2, "from the older one"
    train(toy_config(), tmp_path / "whole")
    assert results(tmp_path / "x") == results(tmp_path / "whole")


def test_the_checksum_covers_the_header(tmp_path):
    content = checkpoint.encode({"a": np.arange(3.0)}, epoch=3, config={"seed": 0})
    for old, new in ((b'"epoch": 3', b'"epoch": 2'), (b'"seed": 0', b'"seed": 1')):
        assert old in content
        with pytest.raises(FairgymError, match="truncated or altered"):
            checkpoint.decode(content.replace(old, new), {"a": np.arange(3.0)}, tmp_path)
    same = rewritten(content, lambda header: None)
    assert checkpoint.decode(same, {"a": np.arange(3.0)}, tmp_path)[1]["epoch"] == 3
