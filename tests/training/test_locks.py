"""Run folders under attack: links, races, full disks, edited files."""

import threading

import pytest
from toy_algorithm import toy_config

from fairgym.core import FairgymError
from fairgym.training import train
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
    with pytest.raises(FairgymError, match=r"something that is not|checkpoints is a link"):
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
    """The holder before may have deleted it between our opening and our locking it."""
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


def test_two_never_hold_one_folder_in_200_races(tmp_path):
    """Locks are those of open files, so that threads race as processes do."""
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
        except FairgymError as error:
            assert "another process is training" in str(error)
        except BaseException as error:
            errors.append(error)

    for number in range(200):
        path, start = tmp_path / f"run-{number}", threading.Barrier(4)
        racers = [threading.Thread(target=race, args=(path, start, n == 0)) for n in range(4)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
    assert not errors and most == 1 and held >= 200
