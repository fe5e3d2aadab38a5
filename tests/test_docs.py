"""Pages of the documentation: links lead somewhere, and the cards read well on the site."""

import re
from pathlib import Path

import cards
import pytest

ROOT = Path(__file__).parents[1]
SOURCE = "https://github.com/fairgym/fairgym/blob/main/"
PAGES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("src/**/*.md"),
    *ROOT.glob(".github/*.md"),
]


def prose_of(page):
    """A page without its code."""
    return re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)


def anchors_of(page):
    return {cards.slug(title) for title in re.findall(r"^#+ (.*)$", prose_of(page), re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose_of(page)):
        path, _, anchor = target.partition("#")
        if target.startswith(SOURCE):
            file = ROOT / path.removeprefix(SOURCE)
        elif re.match(r"\w+:", target) or target.startswith("#card-"):
            continue
        else:
            file = page.parent / path if path else page
        assert file.exists(), target
        if anchor and file.suffix == ".md":
            assert anchor in anchors_of(file), target


def test_the_overview_has_every_environment():
    overview = (ROOT / "docs" / "environments.md").read_text()
    linked = re.findall(r"\[`(\w+)`\]\(#card-(\w+)\)", overview)
    names = sorted(card.parent.name for card in ROOT.glob("src/fairgym/environments/*/README.md"))
    assert sorted(linked) == [(name, name) for name in names]
    readme = (ROOT / "README.md").read_text()
    assert all(f"environments/{name}/README.md" in readme for name in names)


def test_cards_on_the_site_have_anchors_and_links_of_their_own():
    text = (
        "# Card: b\n\n## The people\n\nThose of [a](../a/README.md#the-people),"
        " [all](../a/README.md), [formulas](dynamics.py), [data](../../data/LICENSES.md),"
        " [here](#the-people), [paper](https://example.org/x).\n\n```python\n# a comment\n```\n"
    )
    tree = "https://host/fairgym/blob/main/src/fairgym"
    assert cards.page({"b": text}, "https://host/fairgym") == (
        "## Card: b {#card-b}\n\n### The people {#b-the-people}\n\nThose of [a](#a-the-people),"
        f" [all](#card-a), [formulas]({tree}/environments/b/dynamics.py),"
        f" [data]({tree}/data/LICENSES.md),"
        " [here](#b-the-people), [paper](https://example.org/x).\n\n```python\n# a comment\n```\n"
    )
