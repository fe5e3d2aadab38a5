"""The tutorial's cells run in order, and what is stored is what they give."""

import re
from pathlib import Path

import notebook
import pytest

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.ipynb"

# What the cells write -> what takes less time: smaller sizes, and a step as one program, for the
# contract of every system (`check_environment`) has resets and steps that are not compiled.
SMALLER = {
    "population=500, horizon=50": "population=60, horizon=20",
    '"population": 500, "horizon": 50': '"population": 60, "horizon": 20',
    "env.reset(": "jax.jit(env.reset)(",
    "env.step(": "jax.jit(env.step)(",
}


def smaller(source):
    """The source of a cell as the test runs it."""
    text = notebook.text_of(source)
    for old, new in SMALLER.items():
        text = text.replace(old, new)
    return text


def without_numbers(output):
    """An output with every number replaced: they are of other sizes, and of another machine."""
    text = notebook.text_of(output.get("text") or output["data"]["text/plain"])
    return re.sub(r"[\s\[]*-?\d[\d.]*\]?", " #", text), "image/png" in output.get("data", {})


@pytest.mark.full
def test_every_cell_runs_and_gives_what_is_stored():
    """In less time: see `SMALLER`."""
    stored, fresh = notebook.read(TUTORIAL)["cells"], notebook.read(TUTORIAL)["cells"]
    whole = "".join(notebook.text_of(cell["source"]) for cell in stored)
    assert [whole.count(size) for size in SMALLER] == [1, 1, 1, 1]
    for cell in fresh:
        cell |= {"outputs": [], "source": smaller(cell["source"])}
    notebook.run(fresh)
    code = [number for number, cell in enumerate(fresh) if cell["cell_type"] == "code"]
    assert len(code) >= 7
    for number in code:
        was, now = stored[number], fresh[number]
        assert was["execution_count"] == now["execution_count"]
        assert [*map(without_numbers, was["outputs"])] == [*map(without_numbers, now["outputs"])]
    assert any("image/png" in output.get("data", {}) for output in fresh[code[-1]]["outputs"])


def test_a_cell_gives_what_it_prints_and_its_last_value():
    namespace = {"x": 1}
    printed, value = notebook.execute("y = x + 1\nprint('a')\ny", namespace)
    assert printed["text"] == ["a\n"] and value["data"] == {"text/plain": ["2"]}
    assert notebook.execute("y = 5", namespace) == [] and namespace["y"] == 5


def test_the_page_shows_every_cell_and_its_outputs():
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {
            "cell_type": "code",
            "metadata": {"alt": "a line"},
            "source": "plot()",
            "outputs": [
                {"output_type": "stream", "text": ["one\n", "two\n"]},
                {"data": {"image/png": "QUJD", "text/plain": ["<Figure>"]}},
            ],
        },
    ]
    assert notebook.markdown(cells) == (
        "# Title\ntext\n\n```python\nplot()\n```\n\n```text\none\ntwo\n```\n\n"
        '<img alt="a line" src="data:image/png;base64,QUJD">\n'
    )
