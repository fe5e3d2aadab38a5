"""Caveats of an environment's card: what it must not be used for, where its people come from."""

import inspect
import re
from pathlib import Path

from fairgym.core import Environment

USES = "What it must not be used for"
PEOPLE = "The people"


def caveats(env: Environment) -> dict[str, list[str]]:
    """Return the card's sections on uses to avoid and on the people, as plain text.

    Args:
        env: An environment, wrapped or not.

    Returns:
        Heading -> paragraphs. Empty for an environment without a card, or whose card does not say
        what it must not be used for.
    """
    try:
        card = Path(inspect.getfile(type(env.unwrapped))).with_name("README.md")
        text = card.read_text(encoding="utf-8")
    except (OSError, TypeError, UnicodeDecodeError):  # no file, or none that is text
        return {}
    found = {heading: _section(text, heading) for heading in (USES, PEOPLE)}
    return {name: lines for name, lines in found.items() if lines} if found[USES] else {}


def in_short_of(found: dict[str, list[str]]) -> str:
    """Return the sentences that forbid a use, or the first sentence; "" without a card."""
    if not found:
        return ""
    sentences = re.split(r"(?<=[.!?])\s+", " ".join(found[USES]))
    forbidden = [sentence for sentence in sentences if sentence.startswith("Do not")]
    return " ".join(forbidden or sentences[:1])


def _section(text: str, heading: str) -> list[str]:
    """Paragraphs below a heading of a card, without tables, code and markup."""
    match = re.search(rf"^##+ {re.escape(heading)}\s*$(.*?)(?=^#|\Z)", text, re.M | re.S)
    if match is None:
        return []
    content = re.sub(r"^```.*?^```", "", match[1], flags=re.M | re.S)
    content = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", content)  # links: their words
    content = re.sub(r"[*`]", "", content)
    blocks = [" ".join(block.split()) for block in re.split(r"\n\s*\n", content)]
    return [block for block in blocks if block and not block.startswith("|")]
