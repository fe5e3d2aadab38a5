"""Registries: objects found by name."""

import dataclasses
import sys

import pytest
from toys import Toy

import fairgym
from fairgym.core import FairgymError, check_shape
from fairgym.utils import Registry
from fairgym.utils.registry import environments


@pytest.fixture
def toy():
    """Register `Toy` for one test."""
    fairgym.register_environment("toy")(Toy)
    yield
    del environments._things["toy"]


def test_make_hands_on_its_arguments(toy):
    assert fairgym.make("toy", population=20, seats=1) == Toy(population=20, seats=1)
    assert fairgym.make("toy") == Toy()


def test_an_unknown_environment():
    with pytest.raises(FairgymError, match=r"unknown environment 'laon'; did you mean 'loan'"):
        fairgym.make("laon")


def test_a_registered_name_is_listed(toy):
    with pytest.raises(FairgymError, match="toy"):
        fairgym.make("nothing")
    assert "toy" in environments.names() and "loan" in environments.names()


def test_an_unknown_argument(toy):
    with pytest.raises(
        FairgymError,
        match="unknown argument 'size' for toy; its arguments are: population, horizon, places",
    ):
        fairgym.make("toy", size=3)


@pytest.mark.parametrize(
    ("argument", "value"),
    [("population", 1), ("population", 2_000_000), ("horizon", 0), ("places", 13)],
)
def test_values_that_an_environment_refuses(toy, argument, value):
    message = f"{argument} must be a whole number from .*, got {value}$"
    with pytest.raises(FairgymError, match=message) as caught:
        fairgym.make("toy", **{argument: value})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [12.0, True, "12", None, 0, 100])
def test_shapes_are_whole_numbers_within_their_bounds(value):
    with pytest.raises(FairgymError, match=f"rooms must be a whole number from 1.*got {value!r}"):
        check_shape("rooms", value, 1, 99)
    assert check_shape("rooms", 99, 1, 99) == 99


def test_a_registry_finds_modules_and_packages_but_not_private_ones(tmp_path, monkeypatch):
    package = tmp_path / "shelf"
    (package / "big_thing").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "_base.py").write_text("raise RuntimeError('never imported')")
    code = "import shelf_registry\n@shelf_registry.shelf.register({!r})\nclass Thing: pass\n"
    (package / "small_thing.py").write_text(code.format("small-thing"))
    (package / "big_thing" / "__init__.py").write_text(code.format("big_thing"))
    (package / "other.py").write_text("raise RuntimeError('imported too early')")
    (tmp_path / "shelf_registry.py").write_text(
        "from fairgym.utils import Registry\nshelf = Registry('shelf', 'thing')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import shelf_registry  # pyright: ignore[reportMissingImports]

    shelf: Registry = shelf_registry.shelf
    assert shelf.names() == ["big_thing", "other", "small-thing"]
    assert shelf.get("small-thing").__module__ == "shelf.small_thing"
    assert shelf.get("big_thing").__module__ == "shelf.big_thing"
    with pytest.raises(FairgymError, match="unknown thing '_base'"):
        shelf.get("_base")
    for name in [name for name in sys.modules if name.split(".")[0] in ("shelf", "shelf_registry")]:
        monkeypatch.delitem(sys.modules, name)


def test_a_grouped_registry_finds_the_modules_of_sub_packages(tmp_path, monkeypatch):
    package = tmp_path / "atlas"
    (package / "old_world").mkdir(parents=True)
    (package / "__init__.py").write_text(
        "from fairgym.utils import Registry\nmaps = Registry('atlas', 'map', grouped=True)\n"
    )
    code = "from atlas import maps\n@maps.register({!r})\nclass Map: pass\n"
    (package / "old_world" / "__init__.py").write_text("")
    (package / "old_world" / "fig_6.py").write_text(code.format("old-world-fig-6"))
    (package / "old_world" / "_legend.py").write_text("raise RuntimeError('never imported')")
    (package / "globe.py").write_text(code.format("globe"))
    monkeypatch.syspath_prepend(tmp_path)
    import atlas  # pyright: ignore[reportMissingImports]

    assert atlas.maps.names() == ["globe", "old-world-fig-6"]
    assert atlas.maps.get("old-world-fig-6").__module__ == "atlas.old_world.fig_6"
    assert atlas.maps.get("globe").__module__ == "atlas.globe"
    with pytest.raises(
        FairgymError, match="unknown map 'old_world'; did you mean 'old-world-fig-6'"
    ):
        atlas.maps.get("old_world")
    for name in [name for name in sys.modules if name.split(".")[0] == "atlas"]:
        monkeypatch.delitem(sys.modules, name)


def install(folder, name, entries, monkeypatch, **modules):
    """Write an installed distribution with modules beside it."""
    info = folder / f"{name.replace('-', '_')}-1.5.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text(entries)
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)
    monkeypatch.syspath_prepend(folder)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The registry of environments with one good and two broken distributions."""
    group = "[fairgym.environments]\n"
    code = "from fairgym.utils.registry import environments\nfrom toys import Toy\n"
    code += "class World(Toy): pass\n"
    entries = "town = dist_world:World\nvillage = dist_village\nloan = dist_world:World\n"
    install(
        tmp_path / "a",
        "my-worlds",
        f"[other]\nx = dist_none:X\n{group}{entries}",
        monkeypatch,
        dist_world=code,
        dist_village=f"{code}environments.register('village')(World)\n",
    )
    entries = (
        "gone = dist_none:World\nlost = dist_raising:Lost\nraises = dist_boom\n"
        "quits = dist_quits\nempty = dist_raising\ntown = dist_raising:Later\n"
    )
    files = {"dist_boom": "1 / 0", "dist_quits": "import sys; sys.exit(3)", "dist_raising": ""}
    install(tmp_path / "b", "broken", group + entries, monkeypatch, **files)
    install(tmp_path / "c", "mangled", f"{group}no equals sign\n", monkeypatch)
    monkeypatch.setattr(sys, "path", [*sys.path[3:], *sys.path[2::-1]])  # a, b, c: last
    before = set(sys.modules)
    yield environments
    for name in [name for name in set(sys.modules) - before if name.startswith("dist_")]:
        del sys.modules[name]
    for name in ("town", "village"):
        environments._things.pop(name, None)
        environments._installed_by.pop(name, None)
        environments._registered_by.pop(name, None)


def test_entry_points_name_classes_and_modules(installed):
    assert installed.get("town").__module__ == "dist_world"
    assert installed.get("village").__module__ == "dist_village"
    for name in ("town", "village"):
        assert name in installed and name in installed.names()
        assert installed.distribution_of(name) == "my-worlds 1.5"
        assert installed.module_of(name) is None, "it is found again without an import"


def test_entry_points_are_loaded_when_they_are_asked_for(installed):
    assert installed.names() == sorted(installed.names())
    assert {"town", "gone", "raises", "loan"} <= set(installed.names())
    assert installed.distribution_of("town") == "my-worlds 1.5"
    assert not any(name.startswith("dist_") for name in sys.modules)


def test_an_entry_point_does_not_take_a_name_of_fairgyms_own(installed):
    assert installed.get("loan").__module__.startswith("fairgym.")
    assert installed.distribution_of("loan") is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone", "'gone' of broken 1.5 cannot be loaded: ModuleNotFoundError: .*'dist_none'"),
        ("lost", "'lost' of broken 1.5 cannot be loaded: AttributeError: .*'Lost'"),
        ("raises", "'raises' of broken 1.5 cannot be loaded: ZeroDivisionError"),
        ("quits", "'quits' of broken 1.5 cannot be loaded: SystemExit: 3"),
        ("empty", "broken 1.5 names 'dist_raising' for the environment 'empty'; an entry"),
        ("nothing", "unknown environment 'nothing'; there are: .*town, .*village"),
    ],
)
def test_a_broken_entry_point_is_one_sentence_when_it_is_asked_for(name, message, installed):
    with pytest.raises(FairgymError, match=message):
        installed.get(name)


class NoDataclass:
    pass


class Half(fairgym.Environment):
    name = "half"


@dataclasses.dataclass(frozen=True)
class Unfinished(Half):
    pass


@dataclasses.dataclass(frozen=True)
class NoDefault(Toy):
    wells: int = dataclasses.field(kw_only=True)


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (
            NoDataclass,
            "environment 'odd' must be a dataclass.*, got 'NoDataclass', which is not a dataclass",
        ),
        (lambda: Toy(), "which is not a dataclass"),
        (Toy(), "which is not a dataclass"),
        (dataclasses.make_dataclass("Other", []), "'Other', which has no name, reset, spec"),
        (Unfinished, "'Unfinished', which has no action_space, .*transition"),
        (NoDefault, "'NoDefault', which has no default for its field 'wells'"),
    ],
)
def test_what_is_no_environment_is_one_sentence(thing, message):
    environments.register("odd")(thing)
    try:
        with pytest.raises(FairgymError, match=message):
            fairgym.make("odd")
    finally:
        del environments._things["odd"], environments._registered_by["odd"]


def test_a_name_of_fairgyms_own_is_not_taken():
    with pytest.raises(FairgymError, match="the name 'loan' is that of a built-in environment"):
        fairgym.register_environment("loan")(Toy)
    assert fairgym.make("loan", population=20).name == "loan"


def test_the_module_that_registers_is_known(tmp_path, monkeypatch):
    (tmp_path / "plug_outer.py").write_text("import plug_inner\n")
    (tmp_path / "plug_inner.py").write_text("import fairgym\nfrom plug_helper import make_one\n")
    with open(tmp_path / "plug_inner.py", "a") as file:
        file.write("make_one('plugged')\n")
    (tmp_path / "plug_helper.py").write_text(
        "import fairgym\nfrom toys import Toy\n"
        "def make_one(name):\n    fairgym.register_environment(name)(Toy)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import plug_outer  # noqa: F401  # pyright: ignore[reportMissingImports]

    assert environments.module_of("plugged") == "plug_inner"
    assert environments.module_of("loan") is None and environments.module_of("nothing") is None
    del environments._things["plugged"], environments._registered_by["plugged"]
    for name in ("plug_outer", "plug_inner", "plug_helper"):
        monkeypatch.delitem(sys.modules, name)


def test_equal_environments_share_compiled_programs():
    assert Toy() == dataclasses.replace(Toy(seats=1), seats=2)
    assert hash(Toy()) == hash(Toy()) and Toy() != Toy(seats=1)
