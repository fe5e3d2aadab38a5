"""Write the card of each environment as a page of the site, and the gallery of all of them.

    python tools/cards.py build/cards

Headings have the same anchors as in the repository. Links between cards lead to their pages, links
to other files to the repository. The gallery shows the pictures that `make pictures` has made,
docs/images/gallery-NAME.png.
"""

import posixpath
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = "src/fairgym/environments"

# Environments in the order of the gallery: title, and what somebody decides about whom.
GALLERY = {
    "loan": ("Loan", "A bank approves, queues and relieves borrowers over 400 months."),
    "loan_simple": ("Loan, simple", "The same bank with a loan's whole life in one step."),
    "health": ("Health", "Premiums, hospital beds and public money in four regions."),
    "education": ("Education", "Admissions, a university's budget, salaries and public money."),
    "doughnut": ("Doughnut shop", "One doughnut in each step, and customers who come and go."),
    "lending_pool": ("Lending pool", "One loan in each step, for four people in two groups."),
    "bank_loans": ("Bank loans", "Approve or deny, while credit scores of two groups move."),
    "college_admissions": (
        "College admissions",
        "A jury's threshold, and applicants who raise their score at a cost.",
    ),
    "epidemic": ("Epidemic", "One vaccine in each step, in a network of contacts."),
    "attention": ("Attention allocation", "Six units of attention over five sites with incidents."),
}


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


def gallery() -> str:
    """Return a picture, a line and a link for each environment, in Markdown."""
    items = []
    for name, (title, line) in GALLERY.items():
        text = f"**[{title}](environments/{name}.md)** (`{name}`)<br>{line}"
        if (ROOT / "docs" / "images" / f"gallery-{name}.png").exists():
            text = f"[![{title}](images/gallery-{name}.png)](environments/{name}.md)\n\n    {text}"
        items.append(f"- {text}")
    return '<div class="grid cards" markdown>\n\n' + "\n\n".join(items) + "\n\n</div>\n"


def main(out: str) -> None:
    """Write the pages into a folder."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    Path(out).mkdir(parents=True, exist_ok=True)
    (Path(out) / "gallery.md").write_text(gallery(), encoding="utf-8")
    for file in sorted((ROOT / FOLDER).glob("*/README.md")):
        name = file.parent.name
        text = page(name, file.read_text(encoding="utf-8"), project["urls"]["Source"])
        (Path(out) / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
