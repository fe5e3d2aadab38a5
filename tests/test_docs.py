"""Pages of the documentation: links lead somewhere, cards read well on the site, commands exist."""

import contextlib
import functools
import io
import re
import shlex
import tomllib
from pathlib import Path

import api
import cards
import example_pages
import notebook
import pytest

import fairgym
from fairgym.cli import COMMANDS, main
from fairgym.cli.common import without_imports
from fairgym.cli.train import plan_of

ROOT = Path(__file__).parents[1]
SOURCE = "https://github.com/fairgym/fairgym/blob/main/"
PAGES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("src/**/*.md"),
    *ROOT.glob(".github/*.md"),
]


CARDS = {card.parent.name: card for card in ROOT.glob("src/fairgym/environments/*/README.md")}


@functools.cache
def text_of(page):
    """A page as the site has it: that of a tutorial is made of the notebook."""
    source = page.with_suffix(".ipynb")
    return (
        notebook.markdown(notebook.read(source)["cells"]) if source.exists() else page.read_text()
    )


def prose_of(page):
    """A page without its code and its pictures."""
    return re.sub(r"```.*?```|<img [^>]*>", "", text_of(page), flags=re.DOTALL)


def anchors_of(page):
    return {cards.slug(title) for title in re.findall(r"^#+ (.*)$", prose_of(page), re.MULTILINE)}


def leads_nowhere(page, target):
    """Of a link of a page: whether its file or its heading is missing."""
    path, _, anchor = target.partition("#")
    if target.startswith(SOURCE):
        file = ROOT / path.removeprefix(SOURCE)
    elif re.match(r"\w+:", target):
        return False
    else:
        file = (page.parent / path).resolve() if path else page
    if file.parent == ROOT / "docs" / "environments":  # the site shows the card there
        file = CARDS[file.stem]
    if file.parent == ROOT / "docs" / "examples":  # in the built site
        return file.suffix != ".html" or file.stem not in example_pages.PAGES
    missing = anchor and file.suffix == ".md" and anchor not in anchors_of(file)
    return not file.exists() or bool(missing)


def test_links_lead_to_files_and_headings():
    faults = [
        (str(page.relative_to(ROOT)), target)
        for page in PAGES
        for target in re.findall(r"\]\(([^)\s]+)\)", prose_of(page))
        if leads_nowhere(page, target)
    ]
    assert faults == []


def test_the_overview_leads_to_a_page_for_every_card():
    overview = (ROOT / "docs" / "environments.md").read_text()
    linked = re.findall(r"\[`(\w+)`\]\(environments/(\w+)\.md\)", overview)
    assert sorted(linked) == [(name, name) for name in sorted(CARDS)]
    pages = {page.stem: page.read_text() for page in (ROOT / "docs" / "environments").glob("*")}
    assert pages.keys() == CARDS.keys()
    contents = (ROOT / "zensical.toml").read_text()
    readme = (ROOT / "README.md").read_text()
    for name, text in pages.items():
        assert text.startswith(f'--8<-- "build/cards/{name}.md"\n')
        assert f"environments/{name}.md" in contents and f"environments/{name}/README.md" in readme


def test_every_page_is_in_the_contents():
    """Each once; the site shows no others."""
    contents = re.findall(r'"([\w/.-]+\.md)"', (ROOT / "zensical.toml").read_text())
    pages = [str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").glob("**/*.md")]
    assert sorted(contents) == sorted(pages)


def test_the_home_page_and_the_citation_name_the_version():
    assert f"Version {fairgym.__version__}." in (ROOT / "docs" / "index.md").read_text()
    assert f"{{{fairgym.__version__}}}" in (ROOT / "docs" / "cite.md").read_text()


def test_the_gallery_has_every_environment_with_the_pictures_that_exist():
    assert set(cards.GALLERY) == set(CARDS)
    text = cards.gallery()
    for name in CARDS:
        picture = f"images/gallery-{name}.png"
        assert text.count(f"**[{cards.GALLERY[name][0]}](environments/{name}.md)**") == 1
        assert (f"({picture})" in text) == (ROOT / "docs" / picture).exists()


# Packages that say what they export in `__all__`, less those that only pass others' names on.
EXPORTING = [
    path.parent.name
    for path in sorted((ROOT / "src" / "fairgym").glob("*/__init__.py"))
    if "__all__" in path.read_text()
]


def test_the_reference_has_a_page_for_every_export():
    """Modules are shown where a page names them."""
    package = api.load()
    sections = [api.sections_of(package, page) for page in api.PAGES.values()]
    listed = [name for each in sections for names in each.values() for name in names]
    assert len(listed) == len(set(listed)), "each on one page"
    shown = {package[name].canonical_path for name in listed}
    exported = [name for each in EXPORTING for name in api.exports(package, each)]
    assert len(exported) > 200
    missing = [name for name in exported if not package[name].is_module]
    assert [name for name in missing if package[name].canonical_path not in shown] == []
    pages = {page.stem for page in (ROOT / "docs" / "api").glob("*.md")}
    assert pages == {"index", *api.PAGES}


def test_tables_of_the_reference_name_and_describe(tmp_path):
    api.main(str(tmp_path))
    text = (tmp_path / "core.md").read_text()
    assert re.search(r"\| \[`rollout`\]\[fairgym\.core\.rollout\.rollout\] \| \w.*\. \|", text)
    assert "::: fairgym.core.Environment\n" in text
    empty = [
        line
        for page in tmp_path.glob("*.md")
        for line in page.read_text().splitlines()
        if line.startswith("| [`") and line.endswith("|  |")
    ]
    assert empty == []


def test_the_site_searches_from_the_disk_and_loads_nothing_from_the_network():
    project = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
    assert "offline" in project["plugins"] and project["theme"]["font"] is False
    # Zensical adds a shim from the network unless there is one of this name
    paths = [script["path"] for script in project["extra"]["polyfills"]]
    assert paths == ["assets/iframe-worker.js"]
    assert all((ROOT / "docs" / path).exists() for path in [*paths, *project["extra_css"]])
    assert len(project["nav"]) <= 12, "what is seen before anything is unfolded"


def test_cards_on_the_site_have_the_anchors_of_the_repository_and_links_of_their_own():
    text = (
        "# Card: b\n\n## The people\n\nThose of [a](../a/README.md#the-people),"
        " [all](../a/README.md), [formulas](dynamics.py), [data](../../data/LICENSES.md),"
        " [here](#the-people), [paper](https://example.org/x).\n\n```python\n# a comment\n```\n"
    )
    tree = "https://host/fairgym/blob/main/src/fairgym"
    assert cards.page("b", text, "https://host/fairgym") == (
        "# Card: b {#card-b}\n\n## The people {#the-people}\n\nThose of [a](a.md#the-people),"
        f" [all](a.md), [formulas]({tree}/environments/b/dynamics.py),"
        f" [data]({tree}/data/LICENSES.md),"
        " [here](#the-people), [paper](https://example.org/x).\n\n```python\n# a comment\n```\n"
    )


def test_links_between_cards_lead_to_pages_and_headings_of_the_site(tmp_path):
    cards.main(str(tmp_path))
    faults = []
    for name in sorted(CARDS):
        for target in re.findall(r"\]\(([^)\s]+)\)", prose_of(tmp_path / f"{name}.md")):
            if not re.match(r"\w+:", target):
                page, _, anchor = target.partition("#")
                file = tmp_path / (page or f"{name}.md")
                heading = not anchor or (file.exists() and f"{{#{anchor}}}" in file.read_text())
                faults += [] if file.exists() and heading else [(name, target)]
    assert faults == []


# ------------------------------------------------------------------ commands

HOW_TO = ["command-line", "getting-started", "own-algorithm", "own-metric", "sweeps", "trackers"]
HOW_TO += [f"analysts/{page.stem}" for page in sorted((ROOT / "docs" / "analysts").glob("*.md"))]


def commands_of(page):
    """Commands of the consoles on a page, as lists of words."""
    blocks = re.findall(r"```(?:console|sh)\n(.*?)```", page.read_text(), re.DOTALL)
    text = "\n".join(blocks).replace("\\\n", " ")
    return [shlex.split(line) for line in re.findall(r"^(?:\$ )?fairgym (.*)", text, re.MULTILINE)]


@functools.cache
def help_of(*words):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main([*words, "--help"]) == 0
        if words[0] == "train" and words[1:]:
            assert main([*words, "--help-params"]) == 0
    found = out.getvalue()
    return found + found.replace("--[no-]", "--") + found.replace("--[no-]", "--no-")


@pytest.mark.parametrize("name", HOW_TO)
def test_commands_on_the_pages_exist_with_their_flags(name):
    for words in commands_of(ROOT / "docs" / f"{name}.md"):
        given, _ = without_imports(words)
        assert given[0] in COMMANDS, words
        flags = {re.sub("=.*", "", word) for word in given if word.startswith("--")}
        if "--hoizon" in flags:  # a mistake, whose sentence is shown
            continue
        named = given[: 2 if given[0] in ("train", "simulate", "sweep") else 1]
        known = help_of(*(word for word in named if not word.startswith("-")))
        assert all(re.search(rf"{flag}\b", known) for flag in flags - {"--pairs"}), words


OF_PPO = r"--(network|no-massage|oracle|regularise)"


def test_flags_in_the_text_on_algorithms_are_taken_with_their_values():
    text = prose_of(ROOT / "docs" / "algorithms.md")
    flags = re.findall(r"`(--[^`]+)`", text)
    assert len(flags) >= 5
    for given in flags:
        algorithm = "f-ppo" if re.match(OF_PPO, given) else "fair-qcm"
        algorithm = "f-macem" if given == "--no-failed-last" else algorithm
        plan_of(["doughnut", "--algorithm", algorithm, *shlex.split(given)])


@pytest.mark.parametrize("name", ["algorithms", "command-line", "coming-from-pocar-and-elbert"])
def test_training_commands_are_taken_with_their_values(name):
    """Presets too: the benchmark has them. Not files, nor words in capital letters."""
    text = (ROOT / "docs" / f"{name}.md").read_text().replace("\\\n", " ")
    lines = [*re.findall(r"^fairgym train (.*)$", text, re.MULTILINE)]
    lines += re.findall(r"`fairgym train ([^`]+ --preset [^`]+)`", text)
    taken = [line for line in lines if not re.search(r"--(config|import|resume)|[A-Z]{4}", line)]
    assert len(taken) >= 2
    for line in taken:
        plan_of(shlex.split(line, comments=True))


def test_the_tour_lists_what_there_is(capsys):
    tour = (ROOT / "docs" / "command-line.md").read_text()
    (shown,) = re.findall(r"^\$ fairgym list\n(.*?)```", tour, re.DOTALL | re.MULTILINE)
    assert main(["list"]) == 0
    own = [line for line in capsys.readouterr().out.splitlines() if not line.endswith("]")]
    assert [line.split() for line in shown.splitlines()] == [line.split() for line in own]


def test_the_tour_shows_every_command():
    tour = (ROOT / "docs" / "command-line.md").read_text()
    assert all(f"fairgym {command}" in tour for command in COMMANDS)
