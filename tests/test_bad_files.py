"""Hostile configuration files, flags and run folders: one short sentence, exit code 2."""

import json
import os
import re
import shutil

import pytest
import two_servers  # noqa: F401 - registers an environment that compiles quickly

from fairgym.cli import main
from fairgym.training import devices

DIGITS = "9" * 400
LONG = "x" * 5000


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Run every test in an empty folder, without changing the set-up of JAX."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(devices, "configure", lambda: None)
    return tmp_path


def refused(words, message, capsys):
    """Check that the command exits with 2 and one sentence of at most 2,100 letters."""
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("fairgym: ")
    assert err.count("\n") == 1 and len(err) < 2100
    assert re.search(message, err), err


def bomb(line, first="[x, x, x, x, x, x, x, x, x, x]"):
    """Return ten lists, each with ten references to the previous one."""
    lines = [f"a: &a {first}"]
    lines += [line.format(old=a, new=b) for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    return "\n".join([*lines, "fixed: *i", ""])


FILES = {
    "bomb.yaml": (
        bomb("{new}: &{new} [" + ", ".join(["*{old}"] * 10) + "]"),
        "more than 10,000 values",
    ),
    "merges.yaml": (
        bomb("{new}: &{new} {{<<: [" + ", ".join(["*{old}"] * 20) + "]}}", "{x: 1}"),
        "more than 10,000 values",
    ),
    "itself.yaml": ("fixed: &a [*a]\n", "an alias in it refers to itself"),
    "deep.yaml": ("fixed: " + "[" * 100_000, "nested too deeply"),
    "deep.json": ('{"fixed": ' + "[" * 100_000, "nested too deeply"),
    "deep.toml": ("fixed = " + "[" * 100_000, "nested too deeply"),
    "rather-deep.json": ('{"fixed": ' + "[" * 99 + "]" * 99 + "}", "nested too deeply"),
    "digits.yaml": (f"epochs: {DIGITS}\n", "more than 308 digits"),
    "digits.json": (f'{{"deposit_rate": {DIGITS}}}', "more than 308 digits"),
    "digits.toml": (f"elite_share = {DIGITS}\n", "more than 308 digits"),
    "hexadecimal.yaml": (f"epochs: 0x{'f' * 5000}\n", "more than 308 digits"),
    "many-digits.json": (f'{{"epochs": {DIGITS * 20}}}', "is not valid JSON"),
    "many.yaml": (f"fixed: {{admissions: [{'1,' * 20_000}]}}\n", "more than 10,000 values"),
    "large.yaml": ("a: 1\n" * 300_000, "larger than 524,288 bytes"),
    "nul.yaml": ('out: "a\\0b"\n', r"out must be a path, got 'a\\x00b'"),
    "nul-itself.yaml": ("epochs: \0\n", "is not valid YAML"),
    "surrogate.json": ('{"out": "\\ud800"}', "out must be a path, got .*"),
    "infinite.yaml": ("init_std: .inf\n", r"init_std must be .* from 0 to 3\.40282e\+38, got inf"),
    "infinite.json": ('{"deposit_rate": 1e999}', "deposit_rate must be a number from 0.*got inf"),
    "single.yaml": ("init_std: 1e300\n", r"init_std must be .* to 3\.40282e\+38.*got 1e\+300"),
    "out.yaml": ("out: [a]\n", r"out must be a folder, got \['a'\]"),
    "empty-out.yaml": ("out: ''\n", "out must be a path, got ''"),
    "environment.yaml": (
        "environment: [loan]\n",
        r"environment must be a name, got \['loan'\]",
    ),
    "yes.yaml": ("environment: yes\n", "unknown environment 'yes'; there are: attention"),
    "arabic.yaml": (
        "seeds: '\u0663:\u0665'\n",
        r"seeds must be START:STOP .*, got '\u0663:\u0665'",
    ),
    "sexagesimal.yaml": ("seed: 1:1\n", "seed must be a whole number .*, got '1:1'"),
    "truth.yaml": ("pooled: yes\n", "pooled must be true or false, got 'yes'"),
    "code-point.yaml": ('out: "\\UFFFFFFFF"\n', "is not valid YAML"),
    "twice.yaml": ("population: 3\npopulation-size: 4\n", "population is given twice"),
    "seeds.yaml": ("seeds: {a: 1}\n", "seeds must be START:STOP.*got {'a': 1}"),
    "words.yaml": (
        f"objective: {LONG * 20}\n",
        "unknown objective 'x+[.]{3}x+'; there are: uniform",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_no_one_writes_by_hand(name, here, capsys):
    content, message = FILES[name]
    (here / name).write_text(content)
    refused(["train", "loan", "--config", name], message, capsys)
    assert [p.name for p in here.iterdir()] == [name]


def test_endless_and_special_files(here, capsys):
    os.mkfifo("pipe.yaml")
    os.symlink("/dev/zero", "zero.yaml")
    os.symlink("loop.yaml", "loop.yaml")
    os.mkdir("folder.yaml")
    with open("sparse.yaml", "wb") as stream:
        stream.truncate(2**40)
    for name, reason in {
        "pipe": "not a regular file",
        "zero": "not a regular file",
        "folder": "not a regular file",
        "loop": "symbolic links",
        "sparse": "larger than 524,288 bytes",
    }.items():
        refused(["train", "loan", "--config", f"{name}.yaml"], reason, capsys)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("environment: [loan]\n", r"must be a name, got \['loan'\]"),
        ("environment: 3\n", "must be a name, got 3"),
        ("environment:\n", "is not given; give its name"),
        ("epochs: 3\n", "is not given; give its name"),
    ],
)
def test_an_environment_that_is_no_name(content, message, here, capsys):
    (here / "a.yaml").write_text(content)
    refused(["train", "--config", "a.yaml"], f"environment {message}", capsys)


def test_a_byte_order_mark_is_no_error(here, capsys):
    (here / "a.json").write_bytes(b'\xef\xbb\xbf{"environment": "loan", "epochs": 0}')
    refused(["train", "--config", "a.json"], "epochs must be a whole number.*got 0", capsys)


FLAGS = [
    (["--out", ""], "out must be a path, got ''"),
    (["--out", LONG], r"out must be a path, got 'x+\.\.\.x+' \(File name too long\)"),
    (["--out", "a/" * 3000], r"out must be a path, got .*\(File name too long\)"),
    (["--out", "a\0b"], r"out must be a path, got 'a\\x00b'"),
    (["--resume", "--out", LONG], "File name too long"),
    (["--config", "a\0.yaml"], "config must be a path, got .*"),
    (["--config", f"{LONG}.yaml"], "File name too long"),
    (["--seeds", "0:99999999999"], "must be START:STOP .* at most 10,000 from 0 to 4294967295"),
    (["--seeds", f"0:{DIGITS}"], "must be START:STOP"),
    (["--seeds", "4294967296"], "must be START:STOP"),
    (["--seeds", "18446744073709551616"], "must be START:STOP"),
    (["--seed", "18446744073709551616"], "must be a whole number from 0 to 4294967295"),
    (["--seeds", "\u0663:\u0665"], "must be START:STOP"),
    (["--seed", "\u0663"], "seed must be a whole number"),
    (["--elite-share", "\u0663"], "elite_share must be a number"),
    (["--params.deposit-rate", "+\u0663%"], "deposit_rate must be a number"),
    (["--seed", DIGITS], r"seed must be a whole number from 0 to 4294967295, got 9+\.\.\.9+"),
    (["--hidden", "1000000000"], "hidden must be a whole number from 1 to 16384, got 1000000000"),
    (["--algorithm", "f-mappo", "--hidden", "1000000000"], "hidden must be.*got 1000000000"),
    (
        ["--algorithm", "f-mappo", "--num-envs", "1000000000"],
        "num_envs must be .* from 1 to 1000000",
    ),
    (["--episodes-per-epoch", "1000000000"], "episodes_per_epoch must be .* from 2 to 1000000"),
    (["--epochs", "1e25"], "epochs must be a whole number.*got '1e25'"),
    (["--epochs", f"1{'0' * 25}"], "epochs must be .* from 1 to 2147483647, got 1(0){25}"),
    (["--init-std", "inf"], r"init_std must be a number from 0 to 3\.40282e\+38, got inf"),
    (["--params.deposit-rate", "1e300"], "deposit_rate must be a number from 0.*got 1e.300"),
    (["--population", "1000000000"], "population must be a whole number from 2.*got 1000000000"),
    (["--objective", LONG], r"unknown objective 'x+\.\.\.x+'; there are: uniform"),
    (["--algorithm", LONG], r"unknown algorithm 'x+\.\.\.x+'; there are: .*dqn, "),
    (["--fix", "admissions=" + "1," * 5000], "admissions"),
    ([f"--{LONG}", "1"], "unknown flag"),
]


@pytest.mark.parametrize(("flags", "message"), FLAGS, ids=lambda x: str(x)[:40])
def test_flags_out_of_all_bounds(flags, message, here, capsys):
    refused(["train", "loan", *flags], message, capsys)
    assert not list(here.iterdir())


# What does not fit the system, or the system the learner -> what the sentence says.
MISFITS = {
    # graphs
    "train epidemic --graph 0-1,1-1": "graph pairs person 1 with themselves; a contact needs two",
    "train epidemic --graph 0-1,1-2 --population-size 2": "population must be at least 3",
    "simulate epidemic --fix clinic=40": "clinic.* must be a whole number from 0 to 34.*, got 40.0",
    # distributions
    "train bank_loans --params.start-advantaged 0.5,0.5,0.5,0,0,0,0": "got the sum 1.5",
    "simulate bank_loans --params start_advantaged=+20%": "start_advantaged must sum to 1",
    "simulate bank_loans --fix bank=equal-opportunity": "make bank_loans with informed=True",
    # units
    "simulate attention --units 0": "units must be a whole number from 1 to 1000, got 0",
    "train attention --fix dispatcher=6,1,0,0,0": "must be 5 whole numbers from 0 that sum to 6",
    # measures and windows
    "train lending_pool --algorithm f-ppo": "short_term must be a measure of lending_pool",
    "train bank_loans --algorithm cpo --long-term profits": "long_term must be .* got 'profits'",
    "train bank_loans --algorithm f-ppo --window=-1": "window must be a whole number.*got -1",
    # massaging
    "train doughnut --algorithm f-ppo --short-term handed_out --long-term handed_out": (
        "massage is requested for 'server', but doughnut declares no `expected_components`"
    ),
    # agents that choose
    "train attention --algorithm dqn": "dispatcher",
    "train bank_loans --algorithm tabular-q": "'cash' is a continuous feature",
}


@pytest.mark.parametrize("words", MISFITS)
def test_what_does_not_fit_the_system(words, here, capsys):
    refused(words.split(), MISFITS[words], capsys)
    assert not list(here.iterdir())


@pytest.mark.parametrize("path", ["", LONG, "a\0b"], ids=["empty", "long", "nul"])
def test_paths_of_every_command(path, here, capsys):
    for words in (
        ["evaluate", path],
        ["report", path],
        ["demo", "--out", path],
        ["reproduce", "mafe-fig8", "--out", path],
        ["reproduce", "mafe-fig8", "--pages", path],
    ):
        refused(words, "must be", capsys)
    assert not list(here.iterdir())


def test_files_of_other_commands_with_long_names(here, capsys):
    for words in (["data", "import", "lending-club", LONG], ["bench", "loan", "--against", LONG]):
        refused(words, r"the path x+\.\.\.x+ is too long", capsys)


def test_memory_that_no_machine_has_is_one_sentence(monkeypatch, capsys):
    def fails(error):
        def train(*_, **__):
            raise error

        monkeypatch.setattr("fairgym.training.loop.train", train)

    for error in (MemoryError(), RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 9e9")):
        fails(error)
        assert main(["train", "loan", "--epochs", "1"]) == 2
        assert capsys.readouterr().err.startswith("fairgym: not enough memory; use fewer")
    fails(RuntimeError("something else"))
    with pytest.raises(RuntimeError, match="something else"):
        main(["train", "loan", "--epochs", "1"])


# ------------------------------------------------------------------ forged run folders

HEAD = {"format": "fairgym-run-1", "environment_version": 1, "provenance": {}}
CONFIGS = [
    ([1], "it holds a list"),
    (3, "it holds a number"),
    ({"format": 3}, "is not fairgym-run-1"),
    ({"format": "fairgym-run-1"}, "environment_version is not given"),
    ({**HEAD, "environment": "loan", "x": 1}, "it has the unknown key 'x'"),
    ({**HEAD, "environment": "loan", "environment_version": "1"}, "environment_version is '1'"),
    (HEAD, "environment is not given"),
    ({**HEAD, "environment": ["loan"]}, r"environment must be a name, got \['loan'\]"),
    ({**HEAD, "environment": "loan", "provenance": 3}, "provenance is a number"),
    ({**HEAD, "environment": "loan", "provenance": {"versions": 3}}, "provenance.versions is a n"),
    ({**HEAD, "environment": "loan", "provenance": {"started": []}}, "provenance.started is a l"),
    ({**HEAD, "environment": "loan", "provenance": {"device": {"kind": []}}}, "device.kind is a"),
    ({**HEAD, "environment": "loan", "seed": 2**70}, "seed must be a whole number.*got .*"),
]
JARGON = r"Traceback|__init__|NoneType|'int' object|object is not|argument|KeyError|'\w+' object"


@pytest.mark.parametrize(("content", "message"), CONFIGS, ids=lambda x: str(x)[:40])
def test_an_odd_configuration_is_told_in_plain_words(content, message, here, capsys):
    (here / "x").mkdir()
    (here / "x" / "config.json").write_text(json.dumps(content))
    for command in ("evaluate", "report"):
        assert main([command, "x"]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1 and re.search(message, err), err
        assert not re.search(JARGON, err), err


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A small run that tests copy."""
    out = tmp_path_factory.mktemp("forged") / "x"
    flags = "--algorithm grid-search --steps 2 --horizon 3 --episodes 1".split()
    assert main(["train", "two_servers", *flags, "--out", str(out)]) == 0
    return out


@pytest.mark.full
def test_special_files_in_a_run_folder(finished, here, capsys):
    shutil.copytree(finished, "x")
    for name in ("config.json", "summary.json", "policy.eqx"):
        path = here / "x" / name
        content = path.read_bytes()
        path.unlink()
        os.mkfifo(path)
        refused(
            ["train", "two_servers", "--resume", "--out", "x"], f"{name}|not a fairgym run", capsys
        )
        path.unlink()
        path.write_bytes(content)
    for content in ("[1]", "{", '{"objective": "good"}', "[" * 10_000):
        (here / "x" / "summary.json").write_text(content)
        refused(["train", "--resume", "--out", "x"], r"summary\.json cannot be read", capsys)


def test_checkpoints_that_are_a_file(finished, here, capsys):
    shutil.copytree(finished, "x")
    shutil.rmtree("x/checkpoints")
    (here / "x" / "checkpoints").write_text("mine")
    for flag in ("--resume", "--overwrite"):
        words = ["train", "two_servers", "--algorithm", "grid-search", "--out", "x", flag]
        refused(words, "checkpoints must be a folder, got a file", capsys)
    (here / "y").mkdir()
    (here / "y" / "checkpoints").write_text("mine")
    refused(["train", "loan", "--out", "y"], "something that is not a fairgym run", capsys)
    for folder in "xy":
        assert (here / folder / "checkpoints").read_text() == "mine"


@pytest.mark.parametrize(
    "line",
    [
        "[1]",
        "3",
        "null",
        '"x"',
        '{"epoch": true, "wall_time_s": 1}',
        '{"epoch": 1}',
        '{"epoch": 1, "wall_time_s": 1, "objective": "good"}',
        '{"epoch": 1, "wall_time_s": 1, "objective": NaN}',
        f'{{"epoch": 1, "wall_time_s": 1, "objective": {DIGITS}}}',
        "[" * 10_000,
    ],
    ids=lambda x: x[:60],
)
def test_metrics_that_are_no_objects_of_numbers_are_damage(line, finished, here):
    from fairgym.training import load

    shutil.copytree(finished, "x")
    assert load("x").metrics
    (here / "x" / "metrics.jsonl").write_text(f"{line}\n")
    assert load("x").metrics == []
