"""Imports run one way between the packages, in no circle, and the start is light."""

import ast
import graphlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# From the bottom up. A package may import those of lower floors; those of its own floor not.
FLOORS = (
    {"_version"},
    {"core"},
    {"wrappers"},
    {"utils"},
    {"fairness", "data"},
    {"statistics"},
    {"environments"},
    {"policies"},
    {"algorithms", "testing", "bench"},
    {"config"},
    {"training"},
    {"results"},
    {"sweeps"},
    {"report", "adapters"},
    {"audit"},
    {"benchmark"},
    {"experiments"},  # comparisons of learners have the benchmark's presets
    {"cli", "__init__"},  # the command line, and what `import fairgym` offers
    {"__main__"},
)
FLOOR = {package: number for number, packages in enumerate(FLOORS) for package in packages}

# Distributions that environments and rollouts may load, of those in the project's metadata.
LIGHT = {"equinox", "jax", "jaxtyping", "numpy", "optax"}
IMPORTED_AS = {"pyyaml": "yaml", "scikit-learn": "sklearn"}


def read_sources(folder):
    """The source of every module in a package, by dotted name."""
    sources = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        sources[name] = path.read_text()
    return sources


def read_imports(sources):
    """The modules of the package that each module names in an import, inside functions too."""
    root = next(iter(sources)).split(".")[0]
    found = {}
    for name, source in sources.items():
        found[name] = named = set()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                targets = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{name}, line {node.lineno}: a relative import"
                # `from package import module` names the module, any other the package itself.
                package = node.module or ""
                full = [f"{package}.{alias.name}" for alias in node.names]
                targets = [target if target in sources else package for target in full]
            else:
                continue
            named.update(target for target in targets if target.split(".")[0] == root)
    return found


def package_of(module):
    """The first name below the root: "core" for "fairgym.core.spaces"."""
    return module.split(".")[1] if "." in module else "__init__"


def upward_imports(imports):
    """Imports of a package on the same floor or a higher one."""
    return [
        f"{module} imports {target}"
        for module, targets in imports.items()
        for target in sorted(targets)
        if package_of(target) != package_of(module)
        and FLOOR[package_of(target)] >= FLOOR[package_of(module)]
    ]


@pytest.fixture(scope="module")
def imports():
    return read_imports(read_sources(ROOT / "src" / "fairgym"))


def test_every_package_has_a_floor(imports):
    assert {package_of(module) for module in imports} == set(FLOOR)


def test_imports_between_packages_run_one_way(imports):
    assert upward_imports(imports) == []


def test_no_circle_between_modules(imports):
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_no_package_has_more_than_six_floors(imports):
    floors: dict[str, int] = {}
    for module in graphlib.TopologicalSorter(imports).static_order():
        package = package_of(module)
        below = (floors.get(other, 0) for other in imports[module] if package_of(other) == package)
        floors[module] = 1 + max(below, default=0)
    found = {
        package: max(floor for module, floor in floors.items() if package_of(module) == package)
        for package in FLOOR
    }
    assert {package: most for package, most in found.items() if most > 6} == {}


def test_words_and_numbers_need_no_matplotlib(imports):
    of_reports = {f"fairgym.report.{n}" for n in ("template", "grouping", "findings", "summary")}
    for name in of_reports | {name for name in imports if package_of(name) == "results"}:
        path = ROOT / "src" / name.replace(".", "/")
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        assert "matplotlib" not in path.read_text(encoding="utf-8")
        assert "fairgym.report.style" not in imports[name]


def reached_from(module, imports):
    """The modules that a module can load, inside functions too."""
    found, waiting = set(), {module}
    while waiting:
        name = waiting.pop()
        found.add(name)
        above = {name.rpartition(".")[0]} & set(imports)  # a module loads its package first
        waiting |= ((imports.get(name, set()) & set(imports)) | above) - found
    return found


@pytest.mark.parametrize(
    "command", ["simulate", "train", "evaluate", "listing", "bench", "data", "sweep"]
)
def test_commands_that_print_tables_reach_no_matplotlib(imports, command):
    """Only reports, experiments, and the pages of a sweep and of a what-if draw."""
    pages = {"fairgym.cli.sweep_results", "fairgym.cli.what_if_page"}  # by `page` and --out alone
    imports = imports | {
        name: {one for one in imports[name] if package_of(one) != "report"} for name in pages
    }
    reached = reached_from(f"fairgym.cli.{command}", imports)
    assert "fairgym.training" in reached or command in ("listing", "data")
    assert [name for name in reached if package_of(name) in ("report", "experiments")] == []


def test_a_lazy_import_upwards_and_a_circle_are_seen():
    made = {
        "fairgym": "from fairgym.core import a",
        "fairgym.core": "",
        "fairgym.core.a": "import numpy\nfrom fairgym.core.b import f",
        "fairgym.core.b": "def f():\n    from fairgym.core import a\n    import fairgym.data.store",
        "fairgym.data.store": "from fairgym.core.a import x",
    }
    imports = read_imports(made)
    assert imports["fairgym.core.b"] == {"fairgym.core.a", "fairgym.data.store"}
    assert imports["fairgym.data.store"] == {"fairgym.core.a"}
    assert upward_imports(imports) == ["fairgym.core.b imports fairgym.data.store"]
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(imports).prepare()


def named_distributions():
    """The names of all distributions that the project's metadata ask for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = list(project["dependencies"])
    for extra in project["optional-dependencies"].values():
        asked += extra
    return {text.split(">=")[0].split("[")[0] for text in asked}


def modules_after(code):
    """The modules that a fresh process has loaded after some code."""
    ending = "; import json, sys; print(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-c", code + ending]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_the_library_loads_no_table_plot_or_command_line_library():
    modules = modules_after("import fairgym; fairgym.make, fairgym.rollout, fairgym.Environment")
    assert not {"fairgym.training", "fairgym.cli", "scipy"} & set(modules)
    loaded = {module.split(".")[0] for module in modules}
    heavy = {IMPORTED_AS.get(name, name) for name in named_distributions() - LIGHT}
    assert {"matplotlib", "pandas", "pyarrow", "rich", "yaml"} <= heavy
    assert {"fairgym", "jax", "equinox"} <= loaded
    assert loaded & heavy == set()


@pytest.mark.parametrize(
    "code",
    ["import fairgym; dir(fairgym)"]
    + [
        f"from fairgym.cli import main; assert main({words}) == 0"
        for words in ([], ["--help"], ["version"], ["--version"])
    ],
)
def test_help_and_version_load_no_dependency(code):
    loaded = {module.split(".")[0] for module in modules_after(code)}
    assert "fairgym" in loaded
    named = {IMPORTED_AS.get(name, name) for name in named_distributions()}
    assert loaded & named == set()


def test_the_package_offers_what_it_names():
    code = (
        "import fairgym; assert set(fairgym.__all__) <= set(dir(fairgym));"
        " [getattr(fairgym, name) for name in fairgym.__all__]; fairgym.core.Params;"
        " assert not hasattr(fairgym, 'nothing')"
    )
    assert "fairgym.sweeps" in modules_after(code)


def test_simulate_prints_its_table_without_matplotlib():
    words = "simulate loan_simple --population 20 --horizon 2 --episodes 2".split()
    code = (
        "import sys; sys.modules['matplotlib'] = None; from fairgym.cli import main;"
        f" assert main({words}) == 0"
    )
    assert "fairgym.training.scenarios" in modules_after(code)
