"""Mutation testing: small faults that the tests should find.

    python tools/mutants.py draw mutants.json [--number 150] [--seed 0]
    python tools/mutants.py run mutants.json results.json [--near] [--timeout 3600]

`draw` selects operators, comparisons, constants and pairs of arguments of dynamics, measures,
learners and statistics at random and writes each as (file, line, old, new). `run` applies one
mutant at a time to a copy of the files that git tracks. It runs the tests that mirror its folder
and, if these find nothing and without `--near`, all other tests. It writes the result after each
mutant, and continues if it is started again. A list can be run on another commit: a line is found
by its text, nearest to its number in its file, or in the only other file that has it.
"""

import argparse
import ast
import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = Path("src/fairgym")
MODULES = (
    "environments/**/dynamics.py",
    "environments/**/steps.py",
    "environments/_common/*.py",
    "fairness/**/*.py",
    "algorithms/**/*.py",
    "statistics/**/*.py",
)
OPERATORS = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
Mutant = dict[str, str | int]


# ------------------------------------------------------------------ drawing


def without_types(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all its descendants except annotations."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from without_types(child)


def other_constant(value: object) -> str | None:
    """Return the source of another value; None if it is not a number."""
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return str(value + 1)
    return repr(value * 1.5 if value else 1.0) if isinstance(value, float) else None


def edits(node: ast.AST, line: bytes) -> Iterator[tuple[str, int, int, bytes]]:
    """Yield kind, first and last column, and replacement of each fault in a one-line node."""
    if isinstance(node, ast.BinOp):
        pairs = [(node.left, node.op, node.right)]
    elif isinstance(node, ast.Compare):
        pairs = list(zip([node.left, *node.comparators], node.ops, node.comparators, strict=False))
    elif isinstance(node, ast.BoolOp):
        pairs = [(a, node.op, b) for a, b in zip(node.values, node.values[1:], strict=False)]
    else:
        pairs = []
    for left, operator, right in pairs:
        old, new = OPERATORS.get(type(operator), ("", ""))
        begin, end = left.end_col_offset or 0, right.col_offset
        if old and line[begin:end].count(old.encode()) == 1:
            at = line.index(old.encode(), begin)
            yield "operator", at, at + len(old), new.encode()
    if isinstance(node, ast.Constant) and (other := other_constant(node.value)):
        yield "constant", node.col_offset, node.end_col_offset or 0, other.encode()
    if isinstance(node, ast.Call) and len(node.args) >= 2:
        a, b = node.args[:2]
        one, two = line[a.col_offset : a.end_col_offset], line[b.col_offset : b.end_col_offset]
        if one != two and not isinstance(a, ast.Starred) and not isinstance(b, ast.Starred):
            between = line[a.end_col_offset : b.col_offset]
            yield "arguments", a.col_offset, b.end_col_offset or 0, two + between + one


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every one-line fault of a module."""
    text = (ROOT / path).read_text(encoding="utf-8")
    lines = text.encode().splitlines()
    for node in without_types(ast.parse(text)):
        number = getattr(node, "lineno", None)
        if number is None or getattr(node, "end_lineno", None) != number:
            continue
        line = lines[number - 1]
        for kind, begin, end, new in edits(node, line):
            changed = (line[:begin] + new + line[end:]).decode()
            where = {"file": str(path), "line": number, "kind": kind}
            yield {**where, "old": line.decode(), "new": changed}


def draw(number: int, seed: int) -> list[Mutant]:
    """Draw this many faults, evenly over kinds and packages, at most one per line."""
    paths = sorted({path for glob in MODULES for path in (ROOT / SOURCE).glob(glob)})
    kinds = collections.defaultdict(list)
    for path in paths:
        for mutant in mutants_of(path.relative_to(ROOT)):
            kinds[mutant["kind"], path.relative_to(ROOT / SOURCE).parts[0]].append(mutant)
    chance, chosen = random.Random(seed), {}
    for some in kinds.values():
        chance.shuffle(some)
    while len(chosen) < number and any(kinds.values()):
        for some in kinds.values():
            if some and len(chosen) < number:
                mutant = some.pop()
                chosen.setdefault((mutant["file"], mutant["line"]), mutant)
    return list(chosen.values())


# ------------------------------------------------------------------ running


def found_line(lines: list[str], mutant: Mutant) -> int | None:
    """Return the index of the mutant's line: the line with its text nearest to its number."""
    same = [index for index, line in enumerate(lines) if line == mutant["old"]]
    return min(same, key=lambda index: abs(index + 1 - int(mutant["line"])), default=None)


def found_file(tree: Path, mutant: Mutant) -> Path | None:
    """Return the mutant's file or, if it has no such line, the only other file with it."""
    others = (path for path in (tree / SOURCE).rglob("*.py"))
    own = tree / str(mutant["file"])
    having = [p for p in others if found_line(p.read_text("utf-8").split("\n"), mutant) is not None]
    return own if own in having else having[0] if len(having) == 1 else None


def mirrored(file: Path) -> list[str]:
    """Return the tests of a file below `SOURCE`: those of its name first, then its folder's."""
    folder = Path("tests") / file.parent
    while not (ROOT / folder).is_dir():
        folder = folder.parent
    if folder.name == "_common":
        folder = folder.parent
    named = sorted((ROOT / folder).rglob(f"test_{file.stem.strip('_')}*.py"))
    oracles = ["tests/oracles"] if "environments" in folder.parts else []
    return [*(str(path.relative_to(ROOT)) for path in named), *oracles, str(folder)]


def failing(tree: Path, words: list[str], timeout: float) -> str:
    """Return the first test that fails in a copy, "timeout", or "" if all pass."""
    found = os.environ.get("PYTHONPATH")
    paths = os.pathsep.join([str(tree / "src"), *([found] if found else [])])
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", *words]
    settings = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=tree, env=settings, capture_output=True, text=True, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        return "timeout"
    if done.returncode in (0, 5):  # 5: no tests there
        return ""
    named = re.search("^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if named is None:  # pytest itself failed
        sys.exit(done.stdout + done.stderr)
    return named[1]


def killed_by(tree: Path, mutant: Mutant, marked: str, near: bool, timeout: float) -> Mutant:
    """Return the result ("mirror" or "rest": which tests find it, "survived", "gone") and test."""
    path = found_file(tree, mutant)
    if path is None:
        return {"result": "gone"}
    before = path.read_text(encoding="utf-8")
    lines = before.split("\n")
    lines[found_line(lines, mutant) or 0] = str(mutant["new"])
    path.write_text("\n".join(lines), encoding="utf-8")
    tests = mirrored(path.relative_to(tree / SOURCE))
    try:
        if test := failing(tree, ["-m", marked, *tests], timeout):
            return {"result": "mirror", "test": test}
        ignored = [f"--ignore={folder}" for folder in tests]
        test = "" if near else failing(tree, ["-m", marked, *ignored], timeout)
        return {"result": "rest", "test": test} if test else {"result": "survived"}
    finally:
        path.write_text(before, encoding="utf-8")


def run(mutants: list[Mutant], out: Path, marked: str, near: bool, timeout: float) -> None:
    """Test each mutant that is not in `out`, then run the successful tests without a mutant."""
    results = json.loads(out.read_text()) if out.exists() else []
    key = ("file", "line", "old", "new")
    known = {tuple(result[name] for name in key) for result in results}
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True)
        for name in filter(None, tracked.stdout.decode().split("\0")):
            if (ROOT / name).is_file():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, tree / name)
        for mutant in mutants:
            if tuple(mutant[name] for name in key) in known:
                continue
            results.append({**mutant, **killed_by(tree, mutant, marked, near, timeout)})
            part = out.with_suffix(".part")
            part.write_text(json.dumps(results, indent=1) + "\n")
            part.replace(out)
            print(results[-1]["result"], mutant["file"], mutant["line"], mutant["new"], flush=True)
        killers = sorted({result.get("test", "timeout") for result in results} - {"timeout"})
        if killers and (test := failing(tree, killers, timeout)):
            sys.exit(f"{test} fails without a mutant")
    print(dict(collections.Counter(result["result"] for result in results)))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw", help="write a list of mutants")
    drawing.add_argument("mutants", type=Path)
    drawing.add_argument("--number", type=int, default=150)
    drawing.add_argument("--seed", type=int, default=0)
    running = commands.add_parser("run", help="run the tests on each mutant of a list")
    running.add_argument("mutants", type=Path)
    running.add_argument("results", type=Path)
    running.add_argument("--marked", default="not full", help="marker expression, as pytest's -m")
    running.add_argument(
        "--near", action="store_true", help="run only the tests that mirror its folder"
    )
    running.add_argument(
        "--timeout", type=float, default=3600.0, help="seconds for each of the two sets of tests"
    )
    given = parser.parse_args()
    if given.command == "draw":
        given.mutants.write_text(json.dumps(draw(given.number, given.seed), indent=1) + "\n")
    else:
        some = json.loads(given.mutants.read_text())
        run(some, given.results, given.marked, given.near, given.timeout)


if __name__ == "__main__":
    main()
