"""Write the card of each environment as a page of the site.

    python tools/cards.py build/cards

Headings have the same anchors as in the repository. Links between cards lead to their pages, links
to other files to the repository.
"""

import posixpath
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = "src/fairgym/environments"


def slug(heading: str) -> str:
    """Return the anchor of a heading, as on GitHub."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def link(target: str, name: str, source: str) -> str:
    """Return the site's target of a link in a card.

    Args:
        target: Target in the card.
        name: Name of the environment.
        source: Address of the repository.
    """
    if re.match(r"\w+:", target) or target.startswith("#"):
        return target
    path, _, anchor = target.partition("#")
    anchor = f"#{anchor}" if anchor else ""
    full = posixpath.normpath(f"{FOLDER}/{name}/{path}")
    card = re.fullmatch(rf"{FOLDER}/(\w+)/README\.md", full)
    return f"{card[1]}.md{anchor}" if card else f"{source}/blob/main/{full}{anchor}"


def page(name: str, text: str, source: str) -> str:
    """Return an environment's card as a page of the site.

    Args:
        name: Name of the environment.
        text: The card in Markdown.
        source: Address of the repository.
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
