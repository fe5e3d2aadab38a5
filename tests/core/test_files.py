import errno
import os
from pathlib import Path

import numpy as np
import pytest

from fairgym.core import FairgymError, files
from fairgym.core.files import append_line, write_whole
from fairgym.training.checkpoint import Checkpoints, decode, encode


@pytest.fixture
def full_disk(monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return lambda: monkeypatch.setattr(files.os, "fsync", fail)


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
        if damaged.endswith(content[-8:]):
            continue  # only the header's free part is altered
        with pytest.raises(FairgymError, match="truncated or altered"):
            decode(damaged, tree, tmp_path)
    with pytest.raises(FairgymError, match="another configuration"):
        decode(content, {"a": np.arange(4.0), "b": (np.int32(2),)}, tmp_path)


def test_damaged_checkpoints_are_passed_over(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    like = np.zeros(2)

    def epoch_of(at_most):
        found = checkpoints.latest(like, at_most)
        return None if found is None else found[1]

    assert epoch_of(9) is None
    for epoch in (1, 2, 3):
        checkpoints.save(epoch, np.full(2, float(epoch)))
    newest, older = checkpoints.paths()
    assert epoch_of(9) == 3
    assert epoch_of(2) == 2, "further than the log"
    newest.write_bytes(newest.read_bytes()[:-5])
    assert epoch_of(9) == 2
    older.write_bytes(b"")
    assert epoch_of(9) is None
