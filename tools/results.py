"""Bring the result pages' notes and their index up to date.

    python tools/results.py

Every page of an experiment in docs/results gets the notes beside the experiment's module. Verdicts,
kinds of checks and numbers of seeds are read from the pages and written into README.md: the columns
"verdict", "predicted", "not counted" and "n" of the table, and the paragraph that begins with
"Checks in all".
"""

import re
from pathlib import Path

from fairgym.experiments import Tally, experiments

FOLDER = Path(__file__).parents[1] / "docs" / "results"
VERDICT = "**Verdict: "
HEAD = "| claim | estimate | 95% CI | test | kind | outcome |"
COLUMNS = slice(2, 6)  # of the index: verdict, predicted, not counted, n
BEGIN = "Checks in all: "


def checks_of(page: str) -> Tally:
    """Return the kinds and outcomes of a page's checks; none if it is not an experiment's page.

    Args:
        page: Text of the page.
    """
    lines = page.partition(HEAD)[2].partition("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip()[1:-1].split("|")] for line in lines]
    return Tally((kind, outcome) for *_, kind, outcome in rows)


def number_of(page: str) -> str:
    """Return what the intervals of a page are over: "10 seeds", "1,000 replicates"; "" if exact.

    Args:
        page: Text of the page.
    """
    size = re.search(r"^- Size: (.*)\.$", page, re.M)
    found = re.search(r"([\d,]+ (?:seeds|replicates))", size[1]) if size else None
    return found[1] if found else ""


def cells(page: str) -> list[str]:
    """Return the cells of a page in the index: verdict, predicted checks, other kinds, and n."""
    tally = checks_of(page)
    predicted, _, others = tally.words.partition("; not counted: ")
    if not tally.of("predicted"):
        predicted, others = "", predicted.removeprefix("no checks").removeprefix("checks: ")
    return [
        f"**{tally.verdict}**",
        predicted.replace(" predicted checks hold", " hold"),
        others,
        number_of(page),
    ]


def paragraph(pages: int, every: Tally) -> str:
    """Return the number of checks, their outcomes, and the outcomes expected by chance.

    Args:
        pages: Number of pages with checks.
        every: All checks.
    """
    return f"{BEGIN}{every.total()} on {pages} pages. {every.words}; {every.chance_words}."


def index(text: str, pages: dict[str, str]) -> str:
    """Return the index with the verdicts and check counts of the pages.

    Args:
        text: The current index.
        pages: Name of the file -> text of the page.
    """
    found = {name: tally for name, page in pages.items() if (tally := checks_of(page))}
    every = Tally()
    for tally in found.values():
        every.update(tally)
    lines = []
    for line in text.splitlines():
        link = re.match(r"\| \[[^]]*\]\(([\w-]+\.md)\)", line)
        if link and VERDICT in pages.get(link[1], ""):
            row = [cell.strip() for cell in line.strip()[1:-1].split("|")]
            row[COLUMNS] = cells(pages[link[1]])
            line = f"| {' | '.join(row)} |"
        lines.append(paragraph(len(found), every) if line.startswith(BEGIN) else line)
    return "\n".join(lines) + "\n"


def with_notes(page: str, notes: str) -> str:
    """Return a page with these notes below its heading of notes; a page without it is unchanged.

    Args:
        page: Text of the page.
        notes: The notes.
    """
    head, found, rest = page.partition("\n\n## Notes")
    heading = rest.partition("\n")[0]
    return f"{head}{found}{heading}\n\n{notes}\n" if found else page


def main() -> None:
    """Rewrite the notes of the pages, and the index."""
    for path in FOLDER.glob("*.md"):
        name = re.sub("-(quick|full)$", "", path.stem)
        if name in experiments:
            text = path.read_text(encoding="utf-8")
            path.write_text(with_notes(text, experiments.get(name)().notes()), encoding="utf-8")
    pages = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    text = index(pages.pop("README.md"), pages)
    (FOLDER / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
