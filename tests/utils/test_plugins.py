"""Custom modules by name: found, refused and explained."""

import contextlib
import sys
from pathlib import Path

import pytest

from fairgym.core import FairgymError
from fairgym.utils.plugins import import_plugin, load_object


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """An empty current folder; imports are undone after each test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(path, text="VALUE = 3\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_module_of_the_current_folder(here):
    write(here / "plug_one.py")
    assert import_plugin("plug_one").VALUE == 3
    write(here / "plug_two" / "inner.py", "VALUE = 4\n")
    assert import_plugin("plug_two.inner").VALUE == 4
    assert sys.path.count(str(here)) == 1 and sys.path[-1] == str(here)


def test_the_current_folder_comes_last(here, monkeypatch):
    """Neither installed packages nor the standard library are shadowed."""
    write(here / "elsewhere" / "plug_three.py", "VALUE = 'installed'\n")
    monkeypatch.syspath_prepend(here / "elsewhere")
    write(here / "plug_three.py", "VALUE = 'mine'\n")
    write(here / "wave.py", "raise RuntimeError('shadowed')\n")
    assert import_plugin("plug_three").VALUE == "installed"
    sys.modules.pop("wave", None)
    assert str(here) not in str(import_plugin("wave").__file__)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "module must be a Python name, such as my_module .*, got ''"),
        ("my-world", "module must be a Python name, .*, got 'my-world'"),
        ("a..b", "module must be a Python name, .*, got 'a..b'"),
        (".a", "module must be a Python name, .*, got '.a'"),
        ("a/b", "module must be a Python name, .*, got 'a/b'"),
        ("__main__", "module must be a Python name, .*, got '__main__'"),
        (
            "my_world.py",
            "module must be a Python name, .*, got 'my_world.py'; did you mean 'my_world', from",
        ),
        ("x/my_world.py", "did you mean 'my_world'"),
        ("plug_none", "there is no module 'plug_none' in the Python path or in the current folder"),
        ("json.plug_none", "there is no module 'json.plug_none'"),
        ("json.decoder.plug_none", "there is no module 'json.decoder.plug_none'"),
        ("plug_none.inner", "there is no module 'plug_none' in"),
    ],
)
def test_names_that_are_none(name, message):
    with pytest.raises(FairgymError, match=message) as caught:
        import_plugin(name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0", "'plug_bad' cannot be imported: ZeroDivisionError: division by zero"),
        ("def f(:\n", "'plug_bad' cannot be imported: SyntaxError: .*line 1"),
        ("import plug_none", "'plug_bad' cannot be imported: ModuleNotFoundError: .*plug_none"),
        ("import sys\nsys.exit('no\\nmore')", "'plug_bad' cannot be imported: SystemExit: no more"),
        ("raise ValueError('x' * 10_000)", "'plug_bad' cannot be imported: ValueError: xxx"),
        (
            "from fairgym.core import FairgymError\nraise FairgymError('beds is 3')",
            "'plug_bad' cannot be imported: beds is 3",
        ),
        ("raise GeneratorExit", "'plug_bad' cannot be imported: GeneratorExit"),
        (
            "import asyncio\nraise asyncio.CancelledError('late')",
            "'plug_bad' cannot be imported: CancelledError: late",
        ),
        (
            "class Odd(Exception):\n    def __str__(self):\n        raise self\nraise Odd",
            "'plug_bad' cannot be imported: Odd: its message cannot be printed",
        ),
    ],
)
def test_what_raises_while_it_is_imported(text, message, here):
    write(here / "plug_bad.py", text)
    with pytest.raises(FairgymError, match=message) as caught:
        import_plugin("plug_bad")
    assert "\n" not in str(caught.value) and len(str(caught.value)) <= 2000


@pytest.mark.parametrize("close", ["sys.stdout.close()", "os.close(sys.stdout.fileno())"])
def test_a_module_does_not_close_standard_output(close, here, monkeypatch):
    write(here / "plug_close.py", f"import os\nimport sys\n{close}\n")
    stream = open(here / "out.txt", "w")
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(FairgymError, match="'plug_close' cannot be imported: it closes standard o"):
        import_plugin("plug_close")
    monkeypatch.undo()
    with contextlib.suppress(OSError):
        stream.close()


def test_a_module_that_leaves_the_working_folder_is_refused_and_the_folder_entered_again(here):
    (here / "away").mkdir()
    write(here / "plug_leave.py", "import os\nos.chdir('away')\n")
    with pytest.raises(
        FairgymError, match=r"working folder from .* to .*away.*; remove its os\.chdir"
    ):
        import_plugin("plug_leave")
    assert Path.cwd() == here


def test_a_module_may_change_the_folder_and_come_back(here):
    write(here / "plug_back.py", "import os\nhome = os.getcwd()\nos.chdir('/')\nos.chdir(home)\n")
    assert Path(import_plugin("plug_back").home) == here


def test_an_interrupt_is_no_bad_module(here):
    write(here / "plug_stop.py", "raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        import_plugin("plug_stop")


@pytest.mark.parametrize(
    "name",
    ["plug_run.payload", "plug_runs.x.payload", "payload", "plug_package", "plug_around.payload"],
)
def test_nothing_is_imported_from_a_forbidden_folder_or_a_package_around_it(name, here):
    """The file would run otherwise, whatever the current folder is."""
    forbidden = {
        "plug_run.payload": here / "plug_run",
        "plug_runs.x.payload": here / "plug_runs" / "x",
        "payload": here,
        "plug_package": here / "plug_package",
        "plug_around.payload": here / "plug_around" / "seed-0",
    }[name]
    forbidden.mkdir(parents=True, exist_ok=True)
    file = here.joinpath(*name.split(".")).with_suffix(".py")
    if name == "plug_package":
        file = here / name / "__init__.py"
    write(file, "import pathlib\npathlib.Path('ran').touch()\n")
    with pytest.raises(FairgymError, match=r"in or around .*, from where nothing is imported"):
        import_plugin(name, outside=forbidden)
    assert not (here / "ran").exists()
    import_plugin(name)
    assert (here / "ran").exists(), "the module would have run"


def test_a_link_into_a_forbidden_folder_is_seen_through(here):
    write(here / "plug_run" / "payload.py", "raise RuntimeError('ran')\n")
    (here / "plug_link.py").symlink_to(here / "plug_run" / "payload.py")
    with pytest.raises(FairgymError, match="from where nothing is imported"):
        import_plugin("plug_link", outside=here / "plug_run")


def test_a_module_beside_a_forbidden_folder_is_imported(here):
    write(here / "plug_beside.py")
    assert import_plugin("plug_beside", outside=here / "runs" / "x").VALUE == 3


def test_objects_in_modules(here):
    write(here / "plug_rules.py", "def strict():\n    return 7\n")
    assert load_object("plug_rules:strict")() == 7
    with pytest.raises(FairgymError, match="'plug_rules' has no 'strikt'; did you mean 'strict'"):
        load_object("plug_rules:strikt")
    for path in ("plug_rules", "plug_rules:", ":strict", "plug_rules:a.b", "plug_rules:a:b"):
        with pytest.raises(FairgymError, match="function must be given as MODULE:FUNCTION, got"):
            load_object(path)
    with pytest.raises(FairgymError, match="there is no module 'plug_none'"):
        load_object("plug_none:strict")
