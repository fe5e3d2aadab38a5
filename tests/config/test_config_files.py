"""Configuration files: what their texts mean, and that hostile ones are answered at once."""

import json
import math
import random
import time

import pytest

from fairgym.config import RunConfig, read_config_file
from fairgym.config.files import LARGEST
from fairgym.config.text import read_seeds
from fairgym.core import FairgymError

# Text in a YAML file -> its value by the core schema of YAML 1.2, which JSON and TOML share.
MEANINGS = {
    "true": True,
    "False": False,
    "yes": "yes",
    "No": "No",
    "on": "on",
    "off": "off",
    "y": "y",
    "~": None,
    "": None,
    "NULL": None,
    "none": "none",
    "7": 7,
    "-7": -7,
    "010": 10,
    "0o10": 8,
    "0x1F": 31,
    "1_000": 1000,
    "1__000": "1__000",
    "_1": "_1",
    "0b11": "0b11",
    "1:1": "1:1",
    "1:30.5": "1:30.5",
    "0:5": "0:5",
    "1e3": 1000.0,
    "1e-3": 0.001,
    ".5": 0.5,
    "5.": 5.0,
    "1_000.5": 1000.5,
    "-.INF": -math.inf,
    "\u0663": "\u0663",  # three, in Arabic digits
    "2020-01-01": "2020-01-01",
    "=": "=",
    "'3'": "3",
    "!!str 3": "3",
    "!!int 3": 3,
    "[yes, 1:1]": ["yes", "1:1"],
    "{on: 1, 010: 2, ~: 3, 2020-01-01: 4}": {"on": 1, "010": 2, "~": 3, "2020-01-01": 4},
}


@pytest.mark.parametrize("text", MEANINGS)
def test_yaml_is_read_by_its_core_schema(text, tmp_path):
    (tmp_path / "a.yaml").write_text(f"a: {text}\n")
    found = read_config_file(tmp_path / "a.yaml")["a"]
    assert found == MEANINGS[text] and type(found) is type(MEANINGS[text])


def test_merges_of_yaml(tmp_path):
    (tmp_path / "a.yaml").write_text(
        "one: &one {a: 1, b: 1}\ntwo: &two {b: 2, c: 2}\n"
        "own: {<<: *one, b: 3}\nboth: {c: 3, <<: [*one, *two]}\n"
    )
    found = read_config_file(tmp_path / "a.yaml")
    assert found["own"] == {"a": 1, "b": 3} and found["both"] == {"a": 1, "b": 1, "c": 3}


# Name of a file -> its content, and what the error says. Each ended in a traceback, was accepted,
# or took minutes.
HOSTILE = {
    "code-point.yaml": ('a: "\\UFFFFFFFF"\n', "is not valid YAML"),
    "no-truth.yaml": ("a: !!bool maybe\n", "the tag '!!bool' in it .* does not fit its value"),
    "no-number.yaml": ("a: !!int ''\n", "the tag '!!int' in it .* does not fit its value"),
    "sexagesimal.yaml": ("a: !!int 1:1\n", "the tag '!!int' in it .* does not fit its value"),
    "no-date.yaml": ("a: !!timestamp today\n", "the tag '!!timestamp' in it is unknown"),
    "bytes.yaml": ("a: !!binary aGVsbG8=\n", "the tag '!!binary' in it is unknown"),
    "set.yaml": ("a: !!set {b}\n", "the tag '!!set' in it is unknown"),
    "object.yaml": ("a: !!python/object/apply:os.system [ls]\n", "the tag .* in it is unknown"),
    "key-tag.yaml": ("!!mine a: 3\n", "the tag '!!mine' in it is unknown"),
    "list-key.yaml": ("? [a, b]\n: 3\n", "a key in it is no text"),
    "keys.yaml": ("{1: a, '1': b}\n", "the key '1' is given twice"),
    "merge.yaml": ("a: {<<: 3}\n", "<< must be names with values, or a list of such"),
    "deep.yaml": ("a: " + "[" * 60 + "]" * 60, "nested too deeply"),
    "deep-block.yaml": ("- " * 60 + "a\n", "nested too deeply"),
    "many.yaml": ("- a\n" * (LARGEST // 5), "more than 10,000 values"),
    "long-key.toml": ("a." * (LARGEST // 2 - 4) + "a=1\n", "a key in it has more than 50 parts"),
    "long-table.toml": ("[" + "a . " * 50 + "a]\n", "a key in it has more than 50 parts"),
    "long-quoted.toml": ('"a".' * 25 + "'b'." * 25 + "a=1\n", "a key in it has more than 50"),
    "comments.json": ('{"a": 1 /* one */}', "is not valid JSON"),
    "large.yaml": ("#" * (LARGEST + 1), f"larger than {LARGEST:,} bytes"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_one_sentence_at_once(name, tmp_path):
    content, message = HOSTILE[name]
    (tmp_path / name).write_text(content)
    began = time.process_time()
    with pytest.raises(FairgymError, match=message) as caught:
        read_config_file(tmp_path / name)
    assert time.process_time() - began < 2.0
    assert "\n" not in str(caught.value) and name in str(caught.value)


# Files that are as large as they may be, and that are allowed.
LARGE = {
    "sexagesimal.yaml": "a: 1" + ":1" * (LARGEST // 2 - 3) + "\n",
    "block.yaml": "a: |\n" + " x\n" * (LARGEST // 3 - 2),
    "digits.yaml": "a: '" + "9" * (LARGEST - 6) + "'\n",
    "text.toml": "a = '" + "a-b." * 49 + "a-'\n#" + "a" * (LARGEST - 300),
    "quotes.toml": "#" + "\"'" * (LARGEST // 2 - 10) + "\na = 1\n",
}


@pytest.mark.parametrize("name", LARGE)
def test_large_files_are_read_in_seconds(name, tmp_path):
    (tmp_path / name).write_text(LARGE[name])
    began = time.process_time()
    assert list(read_config_file(tmp_path / name)) == ["a"]
    assert time.process_time() - began < 2.0


def test_fifty_parts_of_a_toml_key_are_allowed(tmp_path):
    (tmp_path / "a.toml").write_text("a." * 49 + "a = 1\n")
    assert json.dumps(read_config_file(tmp_path / "a.toml")).count("{") == 50


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"population": 30, "population_size": 40}, "population is given twice"),
        ({"elite-share": 0.2, "elite_share": 0.3}, "elite_share is given twice"),
    ],
    ids=str,
)
def test_two_spellings_of_a_field_are_not_one_value(given, message):
    with pytest.raises(FairgymError, match=message):
        RunConfig.from_mapping({"environment": "loan"} | given)


def test_a_name_as_long_as_a_file_is_answered_at_once():
    """Each known name was compared with it from scratch."""
    name = "".join(random.Random(0).choices("abcdefghijklmnopqrstuvwxyz_", k=LARGEST - 100))
    RunConfig.from_mapping({"environment": "loan"})  # imports it
    began = time.process_time()
    with pytest.raises(FairgymError, match=r"unknown key 'algorithm_args.*'; .* takes:"):
        RunConfig.from_mapping({"environment": "loan", "algorithm_args": {name: 1}})
    with pytest.raises(FairgymError, match=r"unknown key '.*'; there are:"):
        RunConfig.from_mapping({"environment": "loan", name: 1})
    assert time.process_time() - began < 2.0


@pytest.mark.parametrize("given", ["\u0663:\u0665", "\u0663", ["\u0663"], "0:\uff15"])
def test_seeds_are_written_in_latin_digits(given):
    with pytest.raises(FairgymError, match="seeds must be START:STOP or a list such as 0,3,7"):
        read_seeds(given)


def test_seeds_of_yaml_are_a_range(tmp_path):
    """YAML 1.1 reads 1:5 as the number 65."""
    (tmp_path / "a.yaml").write_text("seeds: 1:5\n")
    assert read_seeds(read_config_file(tmp_path / "a.yaml")["seeds"]) == (1, 2, 3, 4)
