"""Event files of TensorBoard: their bytes, and what they hold after every kind of training."""

import contextlib
import json
import os
import re
import struct
import sys
from pathlib import Path

import pytest
from toy_algorithm import toy_config

from fairgym.cli import main
from fairgym.core import FairgymError
from fairgym.training import TensorBoard, devices, load, train
from fairgym.training.tensorboard import NAME, crc32c, event, record

TRAIN = "train two_servers --algorithm toy --horizon 5 --epochs 3 --import toy_algorithm".split()


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(devices, "configure", lambda: None)
    return tmp_path


def records(path):
    """The contents of a TFRecord file, whose checksums are right."""
    content, found = path.read_bytes(), []
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        found.append(content[12 : 12 + length])
        assert record(found[-1]) == content[: 16 + length]
        content = content[16 + length :]
    return found


def fields(content):
    """The fields of a protocol buffer: (number, value)."""

    def varint():
        nonlocal content
        value = shift = 0
        while True:
            byte, content = content[0], content[1:]
            value, shift = value | (byte & 127) << shift, shift + 7
            if byte < 128:
                return value

    while content:
        number, kind = divmod(varint(), 8)
        if kind == 0:
            yield number, varint()
            continue
        size = {1: 8, 5: 4}.get(kind) or varint()
        value, content = content[:size], content[size:]
        yield number, struct.unpack({1: "<d", 5: "<f"}[kind], value)[0] if kind != 2 else value


def scalars(folder):
    """The events of a folder: (step, time, scalars by tag)."""
    first, *others = (dict(fields(one)) for one in records(Path(folder) / NAME))
    assert first[3] == b"brain.Event:2"
    found = []
    for one in others:
        values = [dict(fields(value)) for _, value in fields(one[5])]
        found.append((one[2], one[1], {value[1].decode(): value[2] for value in values}))
    return found


def assert_log_of(folder, run):
    """An event for each epoch, in order, with every number that is defined."""
    lines, events = load(run).metrics, scalars(folder)
    assert [step for step, _, _ in events] == [line["epoch"] for line in lines]
    for line, (_, _, values) in zip(lines, events, strict=True):
        numbers = {k: v for k, v in line.items() if k not in ("epoch", "wall_time_s", "odd")}
        assert values == pytest.approx(numbers, rel=1e-6) and line["odd"] is None
    times = [time for _, time, _ in events]
    passed = [line["wall_time_s"] - lines[0]["wall_time_s"] for line in lines]
    assert times == sorted(times) and [t - times[0] for t in times] == pytest.approx(passed, abs=1)


KNOWN = {
    "version": "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c",
    "scalars": "3700000000000000e7e8ca59"
    "09000090b48065d24110ac022a290a100a096f626a65637469766515000000bf"
    "0a150a0e6d6574726963732f70726f66697415286b6e4ec56d7cb9",
}


def test_bytes_are_those_of_tensorboard():
    """Known answers of RFC 3720, and records that TensorBoard 2.21 itself wrote."""
    assert crc32c(b"") == 0 and crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA and crc32c(b"\xff" * 32) == 0x62A8AB43
    assert record(event(1.5, version="brain.Event:2")).hex() == KNOWN["version"]
    written = event(1234567890.25, 300, {"objective": -0.5, "metrics/profit": 1e9})
    assert record(written).hex() == KNOWN["scalars"]


def test_a_training_is_logged(here):
    with TensorBoard("tb", "run") as log:
        train(toy_config(epochs=3), "run", progress=log)
    assert_log_of("tb", "run")


def test_a_resumed_and_an_extended_run_are_logged_from_their_first_epoch(here):
    def until_the_second(epoch, epochs, line):
        log(epoch, epochs, line)
        if epoch == 2:
            raise KeyboardInterrupt

    config = toy_config(epochs=4)
    with TensorBoard("tb", "run") as log, pytest.raises(KeyboardInterrupt):
        train(config, "run", progress=until_the_second)
    assert [step for step, _, _ in scalars("tb")] == [1, 2]
    with TensorBoard("tb", "run") as log:
        train(config, "run", progress=log, resume=True)
    assert_log_of("tb", "run")
    with TensorBoard("tb", "run") as log:
        train(toy_config(epochs=6), "run", progress=log, resume=True)
    assert_log_of("tb", "run")
    assert len(scalars("tb")) == 6 and os.listdir("tb") == [NAME]


def test_a_replaced_run_leaves_nothing_in_the_log(here):
    for seed in (0, 1):
        with TensorBoard("run/tb", "run") as log:  # within the run folder
            train(toy_config(epochs=3 - seed, seed=seed), "run", progress=log, overwrite=True)
    assert_log_of("run/tb", "run")
    assert len(scalars("run/tb")) == 2


def test_epochs_that_another_machine_trained_are_read_from_the_folder(here):
    """As an engine tells them that sees the folder now and then, or at the end."""
    run = train(toy_config(epochs=5), "run")
    with TensorBoard("tb", "run") as log:
        log(0, 5, None)
        log(1, 5, run.metrics[0])
        log(4, 5, run.metrics[3])
        log(5, 5, run.metrics[4])
    assert_log_of("tb", "run")
    with TensorBoard("later", "run") as log:
        log(5, 5, None)
    assert_log_of("later", "run")


def test_the_command_logs_one_run_and_seeds(here):
    assert main([*TRAIN, "--out", "run", "--log", "tensorboard:tb"]) == 0
    assert_log_of("tb", "run")
    seeds = ["--seeds", "0:2", "--out", "seeds", "--log", "tensorboard:tb"]
    assert main([*TRAIN, *seeds]) == 0
    for seed in ("seed-0", "seed-1"):
        assert_log_of(f"tb/{seed}", f"seeds/{seed}")


def test_a_sweep_logs_every_run(here):
    base = {"environment": "two_servers", "algorithm": "toy", "epochs": 2, "horizon": 5}
    plan = {"base": base, "grid": {"step": [0.1, 0.2]}, "imports": ["toy_algorithm"]}
    Path("plan.json").write_text(json.dumps(plan))
    assert main(["sweep", "run", "plan.json", "--out", "out", "--log", "tensorboard:tb"]) == 0
    found = [path.parent.relative_to("tb") for path in Path("tb").rglob(NAME)]
    assert len(found) == 2
    for name in found:
        assert_log_of(Path("tb", name), Path("out", "runs", name))


class Tracker:
    """What is logged of an MLflow or W&B that is not there."""

    def __init__(self):
        self.lines = []
        self.start_run = contextlib.nullcontext
        self.log_metrics = self.log = lambda line, step: self.lines.append((step, line))

    def init(self, project, config):
        assert config["environment"] == "two_servers"
        return contextlib.nullcontext()


def test_the_page_on_trackers_shows_code_that_runs(here, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "trackers.md").read_text()
    shown = '{"environment": "loan_simple", "epochs": 20}'
    page = page.replace(shown, "dict(environment='two_servers', algorithm='toy', epochs=3)")
    tensorboard, mlflow, wandb, finished = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    trackers = {"mlflow": Tracker(), "wandb": Tracker()}
    names = {}
    exec(tensorboard, names)
    assert_log_of("runs/tb/first", "runs/first")
    expected = [
        (line["epoch"], {name: x for name, x in line.items() if x is not None})
        for line in load("runs/first").metrics
    ]
    for (name, tracker), code in zip(trackers.items(), (mlflow, wandb), strict=True):
        monkeypatch.setitem(sys.modules, name, tracker)
        exec(code.replace("runs/first", f"runs/{name}"), names)
        assert [step for step, _ in tracker.lines] == [1, 2, 3]
        tracker.lines.clear()
        exec(finished, names)
        assert tracker.lines == expected


BAD = [
    ("wandb:x", "log must be tensorboard:DIR, such as tensorboard:runs/tb, got 'wandb:x'"),
    ("runs/tb", "log must be tensorboard:DIR, .* got 'runs/tb'"),
    ("tensorboard:", "log must be tensorboard:DIR, .* got 'tensorboard:'"),
    ("tensorboard:file", "file/.* cannot be written"),
    ("tensorboard:file/tb", "file/.* cannot be written"),
    (f"tensorboard:{'x' * 300}", "log must be a path|too long"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_a_log_that_cannot_be_is_refused_before_training(here, capsys, given, message):
    (here / "file").write_text("")
    assert main([*TRAIN, "--out", "run", "--log", given]) == 2
    (here / "plan.json").write_text(json.dumps({"base": {"environment": "two_servers"}}))
    assert main(["sweep", "run", "plan.json", "--log", given]) == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2 and sorted(os.listdir()) == ["file", "plan.json"]
    for line in told:
        with pytest.raises(FairgymError, match=message):
            raise FairgymError(line)
