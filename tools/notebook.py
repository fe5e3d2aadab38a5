"""Run notebooks in place, or write them as Markdown for the site, without Jupyter.

    python tools/notebook.py run docs/tutorials [NAME]
    python tools/notebook.py markdown docs/tutorials build/tutorials

A cell's outputs are its printed text and the value of its last expression: a matplotlib figure as a
picture, any other value except None as text.
"""

import ast
import base64
import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

Cell = dict[str, Any]


def read(path: Path) -> dict[str, Any]:
    """Read a notebook; its cells are under "cells"."""
    return json.loads(path.read_text(encoding="utf-8"))


def text_of(lines: str | list[str]) -> str:
    """Return a notebook's text, which is a string or a list of lines, as a string."""
    return lines if isinstance(lines, str) else "".join(lines)


def execute(source: str, namespace: dict[str, Any]) -> list[dict[str, Any]]:
    """Run one cell in a namespace and return its outputs."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "<cell>", "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        lines = printed.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines})
    if value is not None:
        outputs.append({"data": shown(value), "metadata": {}, "output_type": "display_data"})
    return outputs


def shown(value: Any) -> dict[str, Any]:
    """Return a value as the data of an output."""
    if not hasattr(value, "savefig"):
        return {"text/plain": repr(value).splitlines(keepends=True)}
    buffer = io.BytesIO()
    value.savefig(buffer, format="png", dpi=100, metadata={"Software": None})
    return {
        "image/png": base64.b64encode(buffer.getvalue()).decode(),
        "text/plain": ["<Figure>"],
    }


def run(cells: list[Cell]) -> None:
    """Run the code cells in order, in one namespace, and store their outputs."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    number = 0
    for cell in cells:
        if cell["cell_type"] == "code":
            number += 1
            cell["outputs"] = execute(text_of(cell["source"]), namespace)
            cell["execution_count"] = number


def markdown(cells: list[Cell]) -> str:
    """Return the cells with their outputs as Markdown."""
    parts = []
    for cell in cells:
        source = text_of(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {"text/plain": output.get("text", "")})
            if "image/png" in data:
                alt, encoded = cell["metadata"].get("alt", ""), data["image/png"]
                parts.append(f'<img alt="{alt}" src="data:image/png;base64,{encoded}">')
            else:
                parts.append(f"```text\n{text_of(data['text/plain']).rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def main(arguments: list[str]) -> None:
    """Run one of the two commands in the module's docstring."""
    command, folder, *rest = arguments
    if command == "run":
        for path in sorted(Path(folder).glob(f"{rest[0] if rest else '*'}.ipynb")):
            notebook = read(path)
            run(notebook["cells"])
            text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
            path.write_text(text, encoding="utf-8")
    elif command == "markdown":
        out = Path(rest[0])
        out.mkdir(parents=True, exist_ok=True)
        for path in sorted(Path(folder).glob("*.ipynb")):
            text = markdown(read(path)["cells"])
            (out / f"{path.stem}.md").write_text(text, encoding="utf-8")
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
