"""Bad files, from tables: configurations, run folders, data and other code, each damaged or forged.

A case's files are made in the folder where it runs, beside `run`, a finished run.
"""

import gzip
import json
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bad_flags import DIGITS, LONG, Case, settings, some

from fairgym.config.settings import members

Make = Callable[[Path], object]


def text(content: str | bytes) -> Make:
    """Makes a regular file of this content."""

    def make(path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return make


def link(target: str) -> Make:
    """Makes a symbolic link."""
    return lambda path: path.symlink_to(target)


def sparse(path: Path) -> None:
    """Makes a file that is larger than any memory and takes no space."""
    with path.open("wb") as stream:
        stream.truncate(2**40)


def listening(path: Path) -> None:
    """Makes a socket, by a short name: its names are at most 108 letters."""
    before = os.getcwd()
    os.chdir(path.parent)
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(before)


# What stands in the place of a file without being one.
NO_FILES: dict[str, Make] = {
    "a folder": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "a socket": listening,
    "endless": link("/dev/zero"),
    "nothing": link("/dev/null"),
    "dangling": link("nowhere"),
    "circular": link("circular"),
    "sparse": sparse,
}
# Texts that are no JSON, and no table of names with values in it.
NO_JSON = {
    "empty": "",
    "blank": " \n",
    "null": "null",
    "list": "[1]",
    "number": "3",
    "text": '"loan"',
    "half": '{"a": ',
    "twice": "{} {}",
    "bare": "{a: 1,, }",
    "comma": '{"a": 1,}',
    "binary": bytes(range(256)),
    "utf-16": '{"a": 1}'.encode("utf-16"),
    "nul": '{"a": "\0"}',
    "deep": '{"a": ' + "[" * 100_000,
    "digits": f'{{"a": {DIGITS}}}',
    "many digits": f'{{"a": {DIGITS * 20}}}',
    "many": '{"a": [' + "1," * 20_000 + "1]}",
    "page": "<html><body>Not found</body></html>",
}


def bomb(line: str) -> str:
    """Ten lists, each ten times the one before."""
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [line.format(old=a, new=b) for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    return "\n".join([*lines, "fixed: *i", ""])


CONFIG_FILES: dict[str, str | bytes] = {
    **{f"{name.replace(' ', '-')}.json": content for name, content in NO_JSON.items()},
    "bomb.yaml": bomb("{new}: &{new} [" + ", ".join(["*{old}"] * 10) + "]"),
    "itself.yaml": "fixed: &a {a: *a}\n",
    "unknown-alias.yaml": "fixed: *a\n",
    "tag.yaml": "epochs: !!python/object/apply:os.system ['touch pwned']\n",
    "other-tag.yaml": "epochs: !mine 3\n",
    "binary-tag.yaml": "out: !!binary aGVsbG8=\n",
    "date.yaml": "seed: 2020-01-01\n",
    "set.yaml": "fixed: !!set {admissions}\n",
    "several.yaml": "epochs: 3\n---\nepochs: 4\n",
    "tab.yaml": "params:\n\tdeposit_rate: 0.1\n",
    "colon.yaml": "epochs: 3: 4\n",
    "list-key.yaml": "? [a, b]\n: 3\n",
    "list.yaml": "- epochs\n- 3\n",
    "deep.yaml": "fixed: " + "{a: " * 5_000,
    "latin.yaml": "out: caf\xe9\n".encode("latin-1"),
    "escape.yaml": "\x1b[31m: 3\n",
    "code-point.yaml": 'out: "\\UFFFFFFFF"\n',
    "no-truth.yaml": "pooled: !!bool maybe\n",
    "no-date.yaml": "out: !!timestamp today\n",
    "sexagesimal.yaml": "seed: 1" + ":1" * 200_000 + "\n",
    "yes.yaml": "environment: yes\n",
    "arabic.yaml": "seeds: '\u0663:\u0665'\n",
    "merge.yaml": "<<: 3\n",
    "none.yaml": "",
    "dotted.toml": "a." * 200_000 + "a = 1\n",
    "date.toml": "seed = 1979-05-27\n",
    "table.toml": "[params\n",
    "twice.toml": "epochs = 3\nepochs = 4\n",
    "bare.toml": "epochs = three\n",
    "nul.toml": 'out = "\0"\n',
    "comments.json": '{"epochs": 0 // none\n}',
    "infinite.json": '{"population": Infinity}',
    "spellings.json": '{"population": 3, "population-size": 4}',
    "deep.toml": "fixed = " + "[" * 50_000,
    "digits.toml": f"epochs = {DIGITS}\n",
    "latin.toml": "out = 'caf\xe9'\n".encode("latin-1"),
    "a.txt": "epochs: 3\n",
    "a": "epochs: 3\n",
    ".yaml": "epochs: 3\n",
    "a.yaml.bak": "epochs: 3\n",
    "given-twice.yaml": "epochs: 3\nalgorithm_args: {epochs: 4}\n",
    "both-names.yaml": "population: 30\nenvironment_args: {population_size: 40}\n",
    "seed-and-seeds.yaml": "algorithm_args: {seed: 3}\n",
}
ODD: list[Any] = ["x", "", [], {}, [1], {"a": 1}, None, float("nan"), "\0", LONG]
# Type of a setting -> values that are of another, or out of every range.
ODD_OF: dict[Any, list[Any]] = {
    int: [*ODD, True, 1.5, -1, "3", 10**30],
    float: [*ODD, True, "0.5", 1e39, float("inf")],
    bool: [*ODD, 0, 1, "yes"],
    str: [3, [], {}, True, None, "", "nope", "\0", "../x", LONG],
}
# Fields of a configuration, and wrong values for each.
FIELDS: dict[str, list[Any]] = {
    "environment": [3, [], {}, True, 1.5, "", "nope", "../loan", "\0", LONG, "health,loan"],
    "algorithm": [3, [], {}, True, None, "", "nope", "../f_macem", "\0", LONG],
    "objective": [
        3,
        [],
        {},
        True,
        None,
        "nope",
        {"nope": 1},
        {"profit": "x"},
        {"profit": []},
        {"weights": 3},
        {"weights": {"profit": 1}, "x": 1},
        {"weights": {"profit": float("inf")}},
        {"weights": {"mine": 1}, "metrics": {"mine": {"class": "os.system"}}},
        {"weights": {"mine": 1}, "metrics": {"mine": 3}},
        {"weights": {}, "metrics": []},
    ],
    "objectives": [3, [], "x", {"bank": "direct"}, {"admissions": 3}, {"admissions": {"x": 1}}],
    "bounds": [
        3,
        [],
        "x",
        {"nope": 1},
        {"wait_disparity": "x"},
        {"wait_disparity": -1},
        {"wait_disparity": None},
        {"wait_disparity": float("nan")},
    ],
    "fixed": [
        3,
        [],
        "x",
        {"bank": 0},
        {"admissions": "x"},
        {"admissions": [1, 2, 3]},
        {"admissions": {"nope": 1}},
        {"admissions": []},
        {"admissions": 2},
        {"admissions": True},
    ],
    "seed": ["x", [], {}, True, None, 1.5, -1, 2**32, 2**64, float("nan"), "3"],
    "seeds": [[], {}, "x", [1, 1], [-1], [1.5], ["a"], True, 1.5, [[1]]],
    "out": [3, [], {}, True, "", "\0", LONG],
    "environment_args": [3, [], "x", {"nope": 1}, {"population": "x"}, {"population": None}],
    "params": [3, [], "x", {"nope": 1}, {"deposit_rate": "x"}, {"deposit_rate": [1, 2]}],
    "algorithm_args": [3, [], "x", {"nope": 1}, {"epochs": "x"}, {"epochs": 3.5}],
    "imports": [3, {}, True, [3], [[]], ["nope_nothing"], [""], ["../x"], ["a b"], [LONG], "x y"],
    "epocs": [3],
    "": [3],
}
# Files of scenarios: keys, and what the sentence names.
SCENARIOS: list[tuple[Any, str]] = [
    ([1], "must hold names with values, got a list"),
    ({}, "scenarios"),
    ({"scenarios": {}}, "scenarios"),
    ({"scenarios": []}, "scenarios"),
    ({"scenarios": "x"}, "scenarios"),
    ({"scenarios": {"a": 3}}, "'a'"),
    ({"scenarios": {"a": {"nope": 1}}}, "nope"),
    ({"scenarios": {"a": {"params": 3}}}, "params"),
    ({"scenarios": {"a": {"params": {"nope": 1}}}}, "nope"),
    ({"scenarios": {"a": {"params": {"deposit_rate": "x"}}}}, "deposit_rate"),
    ({"scenarios": {"a": {"params": {"deposit_rate": [1, 2]}}}}, "deposit_rate"),
    ({"scenarios": {"a": {"params": {"deposit_rate": None}}}}, "deposit_rate"),
    ({"scenarios": {"a": {"params": {"deposit_rate": float("nan")}}}}, "deposit_rate"),
    ({"scenarios": {"a": {"params": {"deposit_rate": {"nope": 1}}}}}, "deposit_rate"),
    ({"scenarios": {"a": {"fixed": 3}}}, "fixed"),
    ({"scenarios": {"a": {"fixed": {"nope": 1}}}}, "nope"),
    ({"scenarios": {"a": {"fixed": {"admissions": "x"}}}}, "admissions"),
    ({"scenarios": {"a": {"fixed": {"admissions": None}}}}, "'a'"),
    ({"scenarios": {"a": {"fixed": {"admissions": {"nope": 1}}}}}, "nope"),
    ({"scenarios": {"a": {"fixed": {"admissions": [1, 2, 3]}}}}, "'a'"),
    ({"scenarios": {"a": {"fixed": {"admissions": "nope:x"}}}}, "nope"),
    ({"scenarios": {"a": {"baseline": 3}}}, "baseline"),
    ({"scenarios": {"a": {"baseline": "nope"}}}, "nope"),
    ({"scenarios": {"a": {"environment_args": {"population": "x"}}}}, "population"),
    ({"scenarios": {"a": {"environment_args": {"nope": 1}}}}, "nope"),
    ({"scenarios": {"a": {}}, "reference": "nope"}, "nope"),
    ({"scenarios": {"a": {}}, "reference": 3}, "reference"),
    ({"scenarios": {"a": {}}, "episodes": 0}, "episodes"),
    ({"scenarios": {"a": {}}, "episodes": "x"}, "episodes"),
    ({"scenarios": {"a": {}}, "seed": -1}, "seed"),
    ({"scenarios": {"a": {}}, "seed": 2**64}, "seed"),
    ({"scenarios": {"a": {}}, "imports": ["nope_nothing"]}, "nope_nothing"),
    ({"scenarios": {"": {"fixed": {"nope": 1}}}}, "scenario"),
    ({"scenarios": {LONG: {"nope": 1}}}, "nope"),
    ({"scenarios": {"a": {}}, "epocs": 3}, "epocs"),
]
CONFIG = ("train", "loan", "--config")


def config_cases(number: int) -> list[Case]:
    """Files for --config."""
    cases = []
    for name, content in CONFIG_FILES.items():
        # a file is named, or the key in it
        names = (
            name,
            "epochs",
            "population",
            "objective",
            "fixed",
            "unknown key",
            "seed must be",
            "seeds must be",
            "unknown environment",
            "out",
        )
        cases.append(Case((*CONFIG, name), names, at(name, text(content))))
    for kind, make in NO_FILES.items():
        name = f"{kind.replace(' ', '-')}.yaml"
        cases.append(Case((*CONFIG, name), (name,), at(name, make)))
    for index, (field, values) in enumerate(FIELDS.items()):
        for value in some(values, 4 * number, index):
            named = ("train", "--config") if field == "environment" else CONFIG
            cases.append(Case((*named, "a.json"), names_of(field, value), one(field, value)))
    for index, (environment, algorithm, _, setting, _) in enumerate(
        settings()[:: 2 if number < 2 else 1]
    ):
        kind = next(kind for kind in members(setting.kind) if kind is not type(None))
        values = [
            v for v in ODD_OF[kind] if v is not None or type(None) not in members(setting.kind)
        ]
        if getattr(setting, "parts", ()):  # of no region it is no change
            values.remove({})
        for value in some(values, number, index):
            words = ("train", environment, "--algorithm", algorithm, "--config", "a.json")
            place = {setting.section: {setting.name: value}} if index % 2 else {setting.name: value}
            cases.append(Case(words, (setting.name, "unknown source"), one_file(place)))
    return cases


def names_of(field: str, value: Any) -> tuple[str, ...]:
    """What a sentence about this field may name."""
    inside = tuple(f"{key}" for key in value) if isinstance(value, dict) else ()
    further = {"imports": ("module",), "objective": ("the weight of", "the metric")}
    return (field, field.removesuffix("s"), *inside, *further.get(field, ("config.json",)))


def at(name: str, make: Make) -> Make:
    """Makes a file of this name in the folder."""
    return lambda folder: make(folder / name)


def one_file(content: Any) -> Make:
    """Makes a.json."""
    return at("a.json", text(json.dumps(content)))


def one(field: str, value: Any) -> Make:
    """Makes a.json with one key."""
    return one_file({field: value})


def scenario_cases(number: int) -> list[Case]:
    """Files for --scenarios."""
    words = ("simulate", "loan", "--scenarios")
    cases = [Case((*words, "a.json"), (name,), one_file(keys)) for keys, name in SCENARIOS]
    for kind, make in NO_FILES.items():
        name = f"{kind.replace(' ', '-')}.yaml"
        cases.append(Case((*words, name), (name,), at(name, make)))
    for name, content in some(list(CONFIG_FILES.items()), 15 * number, 0):
        cases.append(Case((*words, name), (name, "scenarios", "epochs"), at(name, text(content))))
    return cases


# ------------------------------------------------------------------ run folders


def replaced(name: str, make: Make) -> Make:
    """Puts something else in the place of a file of the run."""

    def prepare(folder: Path) -> None:
        path = folder / "run" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        make(path)

    return prepare


def edited(name: str, **changes: Any) -> Make:
    """Changes entries of a JSON file of the run; those that are None go."""

    def prepare(folder: Path) -> None:
        path = folder / "run" / name
        values = json.loads(path.read_text()) | changes
        values = {key: value for key, value in values.items() if value is not REMOVED}
        path.write_text(json.dumps(values))

    return prepare


def spoiled(name: str, change: Callable[[bytes], bytes]) -> Make:
    """Changes the bytes of a file of the run."""

    def prepare(folder: Path) -> None:
        path = folder / "run" / name
        path.write_bytes(change(path.read_bytes()))

    return prepare


REMOVED = object()
READERS = [
    ("evaluate", "run"),
    ("report", "run"),
    ("train", "loan_simple", "--resume", "--out", "run"),
    ("demo", "--out", "run"),
]
ELSEWHERE = ("imports", "seeds", "out", "epocs", "")
CONFIG_EDITS: dict[str, list[Any]] = {
    "format": [REMOVED, 3, "fairgym-run-0", []],
    "environment_version": [REMOVED, "1", True, None, 1.5],
    "provenance": [REMOVED, 3, [], {"versions": 3}, {"device": {"kind": []}}, {"started": 3}],
    "unknown": [1],
    # modules are imported for what is not known without them
    "imports": [
        value for value in FIELDS["imports"] if value == [3] or not isinstance(value, list)
    ],
    **{key: values for key, values in FIELDS.items() if key not in ELSEWHERE},
}
SPOILED: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "flipped": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    "longer": lambda content: content + b"\0",
    "header": lambda content: content.partition(b"\n")[0],
    "text": lambda content: b"mine\n",
    "other mark": lambda content: b"fairgym-arrays-9" + content[16:],
    "zeros": lambda content: bytes(len(content)),
}


def run_cases(number: int) -> list[Case]:
    """Run folders that are none, or no longer whole."""
    cases = []
    config = ("config.json", "run", "environment")
    for index, (name, content) in enumerate(NO_JSON.items()):
        for words in some(READERS, number, index):
            cases.append(Case(words, config, replaced("config.json", text(content))))
        resume = READERS[2]
        names = ("summary.json",)
        if name not in ("digits", "many"):
            cases.append(Case(resume, names, replaced("summary.json", text(content))))
    for index, (kind, make) in enumerate(NO_FILES.items()):
        for words in some(READERS, number, index):
            cases.append(Case(words, config, replaced("config.json", make)))
        # without policy.eqx, policies are those of the last checkpoint
        absent = kind in ("dangling", "circular")
        for words in READERS[2:3] if absent else some(READERS[:3], number, index):
            cases.append(Case(words, ("policy.eqx",), replaced("policy.eqx", make)))
    for index, (field, values) in enumerate(CONFIG_EDITS.items()):
        for place, value in enumerate(some(values, 3 * number, index)):
            for words in some(READERS[:3], number, index + place):
                prepare = edited("config.json", **{field: value})
                cases.append(Case(words, (*names_of(field, value), "config.json"), prepare))
    for index, change in enumerate(SPOILED.values()):
        for words in some(READERS[:3], number, index):
            cases.append(Case(words, ("policy.eqx",), spoiled("policy.eqx", change)))
    for value in ("x", [], {}, True, float("nan")):
        prepare = edited("summary.json", objective=value)
        cases.append(Case(READERS[2], ("summary.json",), prepare))
    for name in ("checkpoints", ".replacement"):
        for make in (text("mine"), link("nowhere"), link("../home")):
            words = ("train", "loan_simple", *SAME, "--overwrite", "--out", "run")
            cases.append(Case(words, (name,), replaced(name, make)))
    return cases + folder_cases(number)


SAME = "--algorithm grid-search --steps 2 --population 30 --horizon 3 --episodes 1".split()


def mine(path: Path) -> None:
    """Makes a folder with a file of somebody's own."""
    text("mine")(path / "notes.txt")


FOLDERS: dict[str, Make] = {
    "a file": text("mine"),
    "an empty folder": lambda path: path.mkdir(),
    "a folder of somebody's own": mine,
    **{kind: make for kind, make in NO_FILES.items() if kind != "a folder"},
}


def folder_cases(number: int) -> list[Case]:
    """Other things in the place of the run folder, or in the way of a page."""
    cases = []
    new = ("train", "loan_simple", *SAME, "--out", "x")
    for index, (kind, make) in enumerate(FOLDERS.items()):
        for words in some([("evaluate", "x"), ("report", "x")], number, index):
            cases.append(Case(words, ("x ",), at("x", make)))
        if kind in ("dangling", "circular", "a file"):
            cases.append(Case((*new[:-1], "x/y"), ("x/y",), at("x", make)))
        if kind != "an empty folder":
            cases.append(Case(new, ("x ",), at("x", make)))
            cases.append(Case((*new, "--overwrite"), ("x ",), at("x", make)))
            cases.append(Case(("demo", "--out", "x"), ("x ",), at("x", make)))
        cases.append(Case((*new, "--resume"), ("x ",), at("x", make)))
        if kind not in ("an empty folder", "a folder of somebody's own", "dangling"):
            words = ("reproduce", "mafe-fig8", "--out", "x")
            cases.append(Case(words, ("x", "out"), at("x", make)))
            words = ("report", "run", "--out", "x/page.html")
            cases.append(Case(words, ("x", "out"), at("x", make)))
    for path in ("/proc/x", "/dev/null/x", "run/config.json/x", "/"):
        cases.append(Case((*new[:-1], path), (path,)))
        if path != "/":
            words = ("report", "run", "--out", f"{path}/page.html")
            cases.append(Case(words, (path, "page.html")))
        cases.append(Case(("evaluate", path), (path,)))
    for name, make in (("figures", text("mine")), ("figures", link("nowhere"))):
        cases.append(Case(("report", "run"), (name,), replaced(name, make)))
    cases.append(Case(("report", "run"), ("report.html",), replaced("report.html", Path.mkdir)))
    return cases


# ------------------------------------------------------------------ data and code of others

LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "ha">'
    + "".join(
        f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    + "]><codeBook>&i;</codeBook>"
)
OUTSIDE = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><codeBook>&x;</codeBook>'
DATA: dict[str, str | bytes] = {
    "empty": "",
    "page": "<html><body>Not found</body></html>",
    "json": "{}",
    "binary": bytes(range(256)) * 20,
    "zip": b"PK\x03\x04 and more",
    "half a gzip": gzip.compress(b"a,b,c\n" * 1000)[:30],
    "gzip": gzip.compress(b"a,b,c\n1,2,3\n"),
    "header": "id,loan_amnt,term\n",
    "laughs": LAUGHS,
    "outside": OUTSIDE,
    "no variables": '<codeBook xmlns="ddi:codebook:2_5" version="2.5"></codeBook>',
    "quote": 'id,loan_amnt\n1,"' + "x" * 10_000,
    "nul": "id,loan_amnt\n\0\0\0\n",
    "no line": b"\0" * 2**21,
}
IMPORTS = {"lending-club": ".csv", "meps": ".xml", "higher-ed": ".xml"}
CODE = {
    "broken.py": "def opponent(:\n",
    "other.py": "x = 1\n",
    "number.py": "opponent = 3\n",
    "failing.py": "1 / 0\n",
    "leaving.py": "import sys\nsys.exit(0)\n",
    "importing.py": "import nothing_of_this_name\n",
    "latin.py": b"x = '\xe9'\n",
    "nul.py": b"\0\0",
    "text.txt": "def opponent(workload): return None\n",
}
ENTRY = {"file": "loan.parquet", "bytes": 3, "sha256": "0" * 64}
# checksums.json of an import that others have made or changed
CHECKSUMS: list[Any] = [
    [],
    3,
    "x",
    None,
    {"loan.parquet": 3},
    {"loan.parquet": {}},
    {"loan.parquet": ENTRY | {"file": 3}},
    {"loan.parquet": ENTRY | {"file": "../../config.json"}},
    {"loan.parquet": ENTRY | {"file": "/etc/passwd"}},
    {"loan.parquet": ENTRY | {"file": "nowhere"}},
    {"loan.parquet": ENTRY | {"file": "\0"}},
    {"loan.parquet": ENTRY | {"file": LONG}},
    {"loan.parquet": ENTRY | {"bytes": "x"}},
    {"loan.parquet": ENTRY | {"bytes": []}},
    {"loan.parquet": ENTRY | {"sha256": 3, "bytes": 4}},
    {"loan.parquet": ENTRY | {"sha256": None, "bytes": 4}},
    {"loan.parquet": ENTRY},
]


def data_cases(number: int) -> list[Case]:
    """Files for importers, imports that were tampered with, and files of Python."""
    cases = []
    for place, (source, ending) in enumerate(IMPORTS.items()):
        name = f"file{ending}"
        words = ("data", "import", source, name)
        for content in some(list(DATA.values()), 5 * number, place):
            cases.append(Case(words, (name,), at(name, text(content))))
        for make in some(list(NO_FILES.values())[:-1], 3 * number, place):
            cases.append(Case(words, (name,), at(name, make)))
        for path in ("", LONG, "a\0b", "nowhere"):
            cases.append(Case((*words[:3], path), (path[:9] or "file", "a\\x00b", "'.'", ".xml")))
    for content in CHECKSUMS:
        prepare = at("home/mine/checksums.json", text(json.dumps(content)))
        words = ("data", "describe", "loan", "--source", "mine")
        cases.append(Case(words, ("mine", "checksums.json"), both(prepare, PEOPLE)))
    for content in some(list(NO_JSON.values()), 6 * number, 0):
        prepare = at("home/mine/checksums.json", text(content))
        words = ("train", "loan", "--population-source", "mine")
        cases.append(Case(words, ("mine",), prepare))
    for name, content in CODE.items():
        words = ("bench", "loan", "--against", name)
        cases.append(Case(words, (name,), at(name, text(content))))
    for kind, make in NO_FILES.items():
        name = f"{kind.replace(' ', '-')}.py"
        if kind != "nothing":
            cases.append(Case(("bench", "loan", "--against", name), (name,), at(name, make)))
    return cases


PEOPLE = at("home/mine/loan.parquet", text("mine"))


def both(one: Make, other: Make) -> Make:
    """Makes two things."""

    def prepare(folder: Path) -> None:
        one(folder)
        other(folder)

    return prepare
