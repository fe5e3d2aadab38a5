"""Caveats of an environment, read from its card: the README.md beside its module."""

import inspect
import re
from pathlib import Path
from typing import Any

USES = "What it must not be used for"
PEOPLE = "The people"


def caveats(env: Any) -> dict[str, list[str]]:
    """The card's sections on uses to avoid and on where people come from, as plain text.

    Args:
        env: an environment, wrapped or not.

    Returns:
        Heading -> paragraphs; empty for an environment without a card that says what it must not
        be used for.
    """
    try:
        card = Path(inspect.getfile(type(env.unwrapped))).with_name("README.md")
        text = card.read_text(encoding="utf-8")
    except (OSError, TypeError, UnicodeDecodeError):  # no file, or none that is text
        return {}
    found = {heading: _section(text, heading) for heading in (USES, PEOPLE)}
    return {name: lines for name, lines in found.items() if lines} if found[USES] else {}


def in_short(found: dict[str, list[str]]) -> str:
    """The sentences that forbid a use; the first sentence if there are none; "" without a card."""
    if not found:
        return ""
    sentences = re.split(r"(?<=[.!?])\s+", " ".join(found[USES]))
    forbidden = [sentence for sentence in sentences if sentence.startswith("Do not")]
    return " ".join(forbidden or sentences[:1])


def _section(text: str, heading: str) -> list[str]:
    """Paragraphs below a heading of a card, without tables, code and marks."""
    match = re.search(rf"^##+ {re.escape(heading)}\s*$(.*?)(?=^#|\Z)", text, re.M | re.S)
    if match is None:
        return []
    content = re.sub(r"^```.*?^```", "", match[1], flags=re.M | re.S)
    content = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", content)  # links: their words
    content = re.sub(r"[*`]", "", content)
    blocks = [" ".join(block.split()) for block in re.split(r"\n\s*\n", content)]
    return [block for block in blocks if block and not block.startswith("|")]
