"""The tutorials' cells run in order, and what is stored is what they give."""

import re
from pathlib import Path

import notebook
import pytest

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"

# What the cells write -> what takes less time: smaller sizes, and a step as one program, for the
# contract of every system (`check_environment`) has resets and steps that are not compiled.
SMALLER = {
    "researcher": {
        "population=500, horizon=50": "population=60, horizon=20",
        '"population": 500, "horizon": 50': '"population": 60, "horizon": 20',
        "env.reset(": "jax.jit(env.reset)(",
        "env.step(": "jax.jit(env.step)(",
    },
    "fairness-over-time": {
        '"epochs": 40': '"epochs": 40, "steps_per_epoch": 20, "evaluation_episodes": 2',
    },
    "analyst": {
        '"population": 1_000, "horizon": 120': '"population": 60, "horizon": 20',
        '"population": 300, "horizon": 30': '"population": 60, "horizon": 20',
        '"epochs": 5, "episodes_per_epoch": 40': '"epochs": 2, "episodes_per_epoch": 6',
    },
}


def without_numbers(output):
    """An output with every number replaced: they are of other sizes, and of another machine."""
    text = notebook.text_of(output.get("text") or output["data"]["text/plain"])
    return re.sub(r"[\s\[+]*(-?\d[\d.]*|\bnan\b)\]?", " #", text), "image/png" in output.get(
        "data", {}
    )


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:Mean of empty slice")  # nobody in a small group
@pytest.mark.parametrize("name", SMALLER)
def test_every_cell_runs_and_gives_what_is_stored(name):
    """In less time: see `SMALLER`."""
    path = TUTORIALS / f"{name}.ipynb"
    stored, fresh = notebook.read(path)["cells"], notebook.read(path)["cells"]
    whole = "".join(notebook.text_of(cell["source"]) for cell in stored)
    assert [whole.count(size) for size in SMALLER[name]] == [1] * len(SMALLER[name])
    for cell in fresh:
        text = notebook.text_of(cell["source"])
        for old, new in SMALLER[name].items():
            text = text.replace(old, new)
        cell |= {"outputs": [], "source": text}
    notebook.run(fresh)
    code = [number for number, cell in enumerate(fresh) if cell["cell_type"] == "code"]
    assert len(code) >= 5
    for number in code:
        was, now = stored[number], fresh[number]
        assert was["execution_count"] == now["execution_count"]
        assert [*map(without_numbers, was["outputs"])] == [*map(without_numbers, now["outputs"])]
    assert any("image/png" in output.get("data", {}) for output in fresh[code[-1]]["outputs"])


def test_every_tutorial_is_tested_and_has_its_outputs():
    assert {path.stem for path in TUTORIALS.glob("*.ipynb")} == set(SMALLER)
    for name in SMALLER:
        cells = notebook.read(TUTORIALS / f"{name}.ipynb")["cells"]
        counts = [cell["execution_count"] for cell in cells if cell["cell_type"] == "code"]
        assert counts == list(range(1, len(counts) + 1)), name


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
