"""YAML texts, read by the core schema of YAML 1.2.

Only `true` and `false` are true and false: `yes` and `off` are texts, and so are `1:30` and dates.
Keys are texts, as in JSON and TOML. Underscores between digits are allowed, as in TOML.
"""

import re
from collections.abc import Callable
from typing import Any, ClassVar

import yaml

_TAG = "tag:yaml.org,2002:"
_TEXT, _MERGE = f"{_TAG}str", f"{_TAG}merge"
_KINDS = {yaml.SequenceNode: f"{_TAG}seq", yaml.MappingNode: f"{_TAG}map"}
_DIGITS = r"\d+(?:_\d+)*"
_EXPONENT = r"(?:[eE][-+]?\d+)?"


def _whole(text: str) -> int:
    return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))


def _number(text: str) -> float:
    return float(re.sub(r"\.(?=inf|nan)", "", text.lower()))


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{text})\Z", re.ASCII)


# Tag -> the plain texts that have it, and the value of such a text.
_CORE: dict[str, tuple[re.Pattern[str], Callable[[str], object]]] = {
    f"{_TAG}null": (_pattern("|~|null|Null|NULL"), lambda _: None),
    f"{_TAG}bool": (
        _pattern("true|True|TRUE|false|False|FALSE"),
        lambda text: text.lower() == "true",
    ),
    f"{_TAG}int": (_pattern(rf"[-+]?{_DIGITS}|0o[0-7]+|0x[0-9a-fA-F]+"), _whole),
    f"{_TAG}float": (
        _pattern(
            rf"[-+]?(?:\.{_DIGITS}|{_DIGITS}(?:\.(?:{_DIGITS})?)?){_EXPONENT}"
            r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
        ),
        _number,
    ),
    _MERGE: (_pattern("<<"), str),
}


class _Loader(yaml.SafeLoader):
    """Parser of one text, which it stops reading where there are too many values or levels."""

    yaml_implicit_resolvers: ClassVar = {}

    def __init__(self, text: str, most: int, deepest: int) -> None:
        super().__init__(text)
        self.most, self.deepest = most, deepest
        self.count = self.depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Return the next value with all that is in it, as nodes."""
        self.count += 1
        self.depth += 1
        if self.depth > self.deepest:
            raise ValueError("the file is nested too deeply")
        if self.count > self.most:
            raise _too_many(self.most)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


for _tag, (_texts, _) in _CORE.items():
    _Loader.add_implicit_resolver(_tag, _texts, None)


def read_yaml(text: str, most: int, deepest: int) -> object:
    """Return the value of a YAML text: names with values, lists, texts, numbers, true and false.

    Args:
        text: The text, with one document.
        most: Largest number of values, counted where aliases repeat them.
        deepest: Largest number of levels.

    Raises:
        ValueError: The text is no such YAML; the message says why.

    Examples:
        >>> from fairgym.config.yaml_core import read_yaml
        >>> read_yaml("{seed: 3, environment: yes, seeds: 1:5, pooled: true}", 100, 50)
        {'seed': 3, 'environment': 'yes', 'seeds': '1:5', 'pooled': True}
    """
    try:
        node = _Loader(text, most, deepest).get_single_node()
    except (yaml.YAMLError, OverflowError) as error:  # the latter from "\UFFFFFFFF"
        raise ValueError(str(error)) from error
    return None if node is None else _Values(most).of(node)


class _Values:
    """Values of nodes; those of aliases are made, and counted, each time."""

    def __init__(self, most: int) -> None:
        self.most, self.count = most, 0
        self.around: set[int] = set()  # nodes that are being made

    def of(self, node: yaml.Node) -> Any:
        """Return the value of a node."""
        self.count += 1
        if self.count > self.most:
            raise _too_many(self.most)
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if node.tag != _KINDS[type(node)]:
            raise _other_tag(node)
        if id(node) in self.around:
            raise ValueError("an alias in it refers to itself")
        self.around.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            value = [self.of(part) for part in node.value]
        else:
            value = self._mapping(node)
        self.around.remove(id(node))
        return value

    def _mapping(self, node: yaml.Node) -> dict[str, object]:
        own: dict[str, object] = {}
        merged: dict[str, object] = {}
        for key, content in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise ValueError("a key in it is no text")
            _scalar(key)  # refuses unknown tags
            self.count += 1
            value = self.of(content)
            if key.tag == _MERGE:
                merged = _merged(value)
            elif key.value in own:
                raise ValueError(f"the key {key.value!r} is given twice")
            else:
                own[key.value] = value
        return merged | own


def _scalar(node: yaml.ScalarNode) -> object:
    if node.tag == _TEXT:
        return node.value
    texts, value = _CORE.get(node.tag, (None, str))
    if texts is None or not texts.match(node.value):
        raise _other_tag(node)
    return value(node.value)


def _merged(value: object) -> dict[str, object]:
    """Return the keys that `<<` adds; the first of several mappings counts."""
    found: dict[str, object] = {}
    for part in value if isinstance(value, list) else [value]:
        if not isinstance(part, dict):
            raise ValueError("<< must be names with values, or a list of such")
        found = part | found
    return found


def _too_many(most: int) -> ValueError:
    return ValueError(f"the file holds more than {most:,} values")


def _other_tag(node: yaml.Node) -> ValueError:
    tag = node.tag.replace(_TAG, "!!")
    return ValueError(f"the tag {tag!r} in it is unknown or does not fit its value")
