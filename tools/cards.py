"""Write the card of each environment as a page of the site.

    python tools/cards.py build/cards

Headings get the anchors that they have in the repository, links between cards lead to their pages,
and links to other files of the repository to its address.
"""

import posixpath
import re
import sys
import tomllib
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
    if re.match(r"\w+:", target) or target.startswith("#"):
        return target
    path, _, anchor = target.partition("#")
    anchor = f"#{anchor}" if anchor else ""
    full = posixpath.normpath(f"{FOLDER}/{name}/{path}")
    card = re.fullmatch(rf"{FOLDER}/(\w+)/README\.md", full)
    return f"{card[1]}.md{anchor}" if card else f"{source}/blob/main/{full}{anchor}"


def page(name: str, text: str, source: str) -> str:
    """The card of an environment as it stands on the site.

    Args:
        name: name of the environment.
        text: the card, in Markdown.
        source: address of the repository.
    """
    lines, code = [], False
    for line in [*text.splitlines(), ""]:
        code ^= line.startswith("```")
        lines.append(line if code else _prose(line, name, source))
    return "\n".join(lines)


def _prose(line: str, name: str, source: str) -> str:
    heading = re.fullmatch(r"#+ (.*)", line)
    if heading:
        line += f" {{#{slug(heading[1])}}}"
    return re.sub(r"\]\(([^)]*)\)", lambda found: f"]({link(found[1], name, source)})", line)


def main(out: str) -> None:
    """Write the pages into a folder."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    Path(out).mkdir(parents=True, exist_ok=True)
    for file in sorted((ROOT / FOLDER).glob("*/README.md")):
        name = file.parent.name
        text = page(name, file.read_text(encoding="utf-8"), project["urls"]["Source"])
        (Path(out) / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
