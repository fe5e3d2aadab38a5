"""Gather the cards of all environments into one text for the site.

    python tools/cards.py build/cards.md

Headings move one level down and get anchors of their own (`loan-the-people`), links between cards
lead to these, and links to other files of the repository to its address.
"""

import posixpath
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = "src/fairgym/environments"


def slug(heading: str) -> str:
    """The anchor of a heading, as repositories show it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def link(target: str, name: str, source: str) -> str:
    """Target on the site of a link of the card `name`.

    Args:
        target: as written in the card.
        name: name of the environment.
        source: address of the repository.
    """
    if re.match(r"\w+:", target):
        return target
    path, _, anchor = target.partition("#")
    full = posixpath.normpath(f"{FOLDER}/{name}/{path}") if path else f"{FOLDER}/{name}/README.md"
    card = re.fullmatch(rf"{FOLDER}/(\w+)/README\.md", full)
    if card:
        return f"#{card[1]}-{anchor}" if anchor else f"#card-{card[1]}"
    return f"{source}/blob/main/{full}" + (f"#{anchor}" if anchor else "")


def page(cards: Mapping[str, str], source: str) -> str:
    """The cards of environments (name -> Markdown) as one text."""
    lines, code = [], False
    for name, text in cards.items():
        for line in [*text.splitlines(), ""]:
            code ^= line.startswith("```")
            lines.append(line if code else _prose(line, name, source))
    return "\n".join(lines)


def _prose(line: str, name: str, source: str) -> str:
    heading = re.fullmatch(r"(#+) (.*)", line)
    if heading:
        marks, title = heading.groups()
        anchor = f"card-{name}" if marks == "#" else f"{name}-{slug(title)}"
        line = f"#{marks} {title} {{#{anchor}}}"
    return re.sub(r"\]\(([^)]*)\)", lambda found: f"]({link(found[1], name, source)})", line)


def main(out: str) -> None:
    """Write the text."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    files = sorted((ROOT / FOLDER).glob("*/README.md"))
    cards = {file.parent.name: file.read_text(encoding="utf-8") for file in files}
    Path(out).write_text(page(cards, project["urls"]["Source"]), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
