import errno
import os
import secrets
from pathlib import Path

import numpy as np
import pytest

from fairgym.core import FairgymError
from fairgym.training.checkpoint import Checkpoints, decode, encode
from fairgym.utils import files
from fairgym.utils.files import append_line, make_folder, read_regular, write_whole


@pytest.fixture
def full_disk(monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return lambda: monkeypatch.setattr(os, "fsync", fail)


def test_write_whole_replaces_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "a.json"
    write_whole(path, b"one")
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_file(tmp_path, full_disk):
    path = tmp_path / "a.json"
    write_whole(path, b"one")
    full_disk()
    with pytest.raises(FairgymError, match=r"cannot be written .No space left"):
        write_whole(path, b"two")
    assert path.read_bytes() == b"one"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_no_half_line(tmp_path, full_disk):
    path = tmp_path / "metrics.jsonl"
    append_line(path, "one")
    full_disk()
    with pytest.raises(FairgymError, match="No space left"):
        append_line(path, "two")
    assert path.read_bytes() == b"one\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_device_that_is_full_indeed():
    with pytest.raises(FairgymError, match=r"/dev/full cannot be written .No space left"):
        append_line(Path("/dev/full"), "one")


def test_arrays_come_back(tmp_path):
    tree = {"a": np.arange(3.0), "b": (np.int32(2),)}
    content = encode(tree, epoch=3)
    found, about = decode(content, tree, tmp_path)
    assert about["epoch"] == 3
    np.testing.assert_array_equal(found["a"], tree["a"])
    for damaged in (b"", b"{}\n", content[:-1], content[:40], content.replace(b"epoch", b"epoxy")):
        with pytest.raises(FairgymError, match="truncated or altered"):
            decode(damaged, tree, tmp_path)
    with pytest.raises(FairgymError, match="another configuration"):
        decode(content, {"a": np.arange(4.0), "b": (np.int32(2),)}, tmp_path)


def test_damaged_checkpoints_are_passed_over(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    like, config = np.zeros(2), {"seed": 0}

    def epoch_of(at_most):
        found = checkpoints.latest(like, at_most, config)
        return None if found is None else found[1]

    assert epoch_of(9) is None
    for epoch in (1, 2, 3):
        checkpoints.save(epoch, np.full(2, float(epoch)), config)
    newest, older = checkpoints.paths()
    assert epoch_of(9) == 3
    assert epoch_of(2) == 2, "further than the log"
    newest.write_bytes(newest.read_bytes()[:-5])
    assert epoch_of(9) == 2
    older.write_bytes(b"")
    assert epoch_of(9) is None


# ------------------------------------------------------------------ links


@pytest.fixture
def victim(tmp_path):
    path = tmp_path / "victim"
    path.write_bytes(b"mine\n")
    return path


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "folder"
    path.mkdir()
    return path


def test_temporary_files_are_new_files_of_unforeseeable_names(folder, victim, monkeypatch):
    names = []

    def replace(aside, path):
        names.append(aside.name)
        assert aside.is_file() and not aside.is_symlink() and files.is_temporary(aside)
        move(aside, path)

    move = os.replace
    monkeypatch.setattr(os, "replace", replace)
    (folder / f".a{files.TEMPORARY}").symlink_to(victim)
    for _ in range(2):
        write_whole(folder / "a", b"new")
    assert len(set(names)) == 2
    monkeypatch.setattr(secrets, "token_hex", lambda _: "known")
    (folder / f".a.known{files.TEMPORARY}").symlink_to(victim)
    with pytest.raises(FairgymError, match=r"cannot be written .File exists"):
        write_whole(folder / "a", b"newer")
    assert victim.read_bytes() == b"mine\n" and (folder / "a").read_bytes() == b"new"


def test_links_are_replaced_not_followed(folder, victim):
    for name in ("a", "metrics.jsonl"):
        (folder / name).symlink_to(victim)
    write_whole(folder / "a", b"new")
    assert (folder / "a").read_bytes() == b"new" and not (folder / "a").is_symlink()
    with pytest.raises(FairgymError, match=r"metrics\.jsonl cannot be written .it is a link"):
        append_line(folder / "metrics.jsonl", "one")
    assert victim.read_bytes() == b"mine\n"


def test_a_linked_folder_is_refused(folder, tmp_path):
    make_folder(folder / "inner" / "figures")
    make_folder(folder / "inner" / "figures")
    (folder / "link").symlink_to(tmp_path)
    (folder / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("link", "dangling"):
        with pytest.raises(FairgymError, match=f"{name} must be a folder, got a link"):
            make_folder(folder / name)
    (folder / "file").write_text("")
    with pytest.raises(FairgymError, match="file must be a folder, got a file"):
        make_folder(folder / "file")
    assert not (tmp_path / "nowhere").exists()


def test_special_and_endless_files_are_not_read(folder, victim):
    assert read_regular(victim) == read_regular(victim, most=5) == b"mine\n"
    os.mkfifo(folder / "pipe")
    (folder / "endless").symlink_to("/dev/zero")
    for name in ("pipe", "endless", "."):
        with pytest.raises(OSError, match="not a regular file"):
            read_regular(folder / name)
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_regular(victim, most=4)
