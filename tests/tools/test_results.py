"""The index of the results agrees with every page, and counts the checks."""

from pathlib import Path

import results

FOLDER = Path(__file__).parents[2] / "docs" / "results"
HEAD = "| claim | estimate | 95% CI | test | kind | outcome |\n| --- | --- |\n"
ONE = (
    "# One\n\n**Verdict: x**\n\n- Size: 1,000 people, 5 epochs, 10 seeds (0 to 9).\n\n"
    f"{HEAD}| a | 1.00 | [0.50, 1.50] | p = 0.06 | predicted | holds |\n"
    "| b | 1.00 | [−1.00, 3.00] |  | predicted | undecided |\n"
    "| c | 0 | [0, 0] |  | by construction | holds |\n\nMore.\n\n| x | y |\n"
)
TWO = (
    f"# Two\n\n**Verdict: x**\n\n{HEAD}"
    "| d | 1.00 | [0.50, 1.50] |  | calibrated | holds |\n\nMore.\n"
)
THREE = "# Three\n\n**Verdict: x**\n\n- Size: 12 settings, 3 seeds (0 to 2).\n"
INDEX = (
    "| result | claim | verdict | predicted | not counted | n | command |\n| --- |\n"
    "| [first](one.md), at quick scale | this | old |  | old | old | `run one` |\n"
    "| [second](two.md) | that |  |  |  |  | `run two` |\n"
    "| [third](three.md) | no check | old | old | old | old | `run three` |\n"
    "| [fourth](four.md) | no experiment |\n\nChecks in all: 0.\n"
)


def test_verdicts_and_numbers_are_those_of_the_pages():
    pages = {"one.md": ONE, "two.md": TWO, "three.md": THREE, "four.md": "# Four\n"}
    one, two, three, four, _, last = results.index(INDEX, pages).splitlines()[2:]
    assert one == (
        "| [first](one.md), at quick scale | this | **holds in part** | 1 of 2 hold, 1 undecided"
        " | 1 by construction | 10 seeds | `run one` |"
    )
    assert two == (
        "| [second](two.md) | that | **no prediction** |  | 1 calibrated |  | `run two` |"
    )
    assert three == (
        "| [third](three.md) | no check | **no prediction** |  |  | 3 seeds | `run three` |"
    )
    assert four == "| [fourth](four.md) | no experiment |"
    assert last.startswith(
        "Checks in all: 4 on 2 pages. 1 of 2 predicted checks hold, 1 undecided; not counted:"
        " 1 calibrated, 1 by construction; by chance about 0.1 would hold: "
    )


def test_notes_are_exchanged_below_their_heading():
    page = "# One\n\nText.\n\n## Notes on the paper scale\n\nOld.\n\nMore.\n"
    assert results.with_notes(page, "New.") == (
        "# One\n\nText.\n\n## Notes on the paper scale\n\nNew.\n"
    )
    assert results.with_notes("# One\n\nText.\n", "New.") == "# One\n\nText.\n"


def test_the_index_is_that_of_the_pages():
    pages = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    text = pages.pop("README.md")
    assert results.index(text, pages) == text, "run tools/results.py"


def test_the_verdict_of_every_page_is_that_of_its_checks():
    verdicts = 0
    for path in FOLDER.glob("*.md"):
        page = path.read_text(encoding="utf-8")
        if "**Verdict: " in page:
            tally = results.checks_of(page)
            assert f"**Verdict: {tally.verdict}** ({tally.words}; " in page, path.name
            verdicts += 1
    assert verdicts > 20
