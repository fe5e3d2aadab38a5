"""Finding things by name, and what `import fairgym` costs."""

import dataclasses
import subprocess
import sys

import pytest

import fairgym
from fairgym.core import FairgymError, Registry, check_shape
from fairgym.core.registry import environments
from fairgym.testing.toys import Toy


@pytest.fixture
def toy():
    """`Toy` under a name, for one test."""
    fairgym.register_environment("toy")(Toy)
    yield
    del environments._things["toy"]


def test_make_hands_on_its_arguments(toy):
    assert fairgym.make("toy", population=20, seats=1) == Toy(population=20, seats=1)
    assert fairgym.make("toy") == Toy()


def test_an_unknown_environment():
    with pytest.raises(FairgymError, match=r"unknown environment 'laon'; there are: .*loan"):
        fairgym.make("laon")


def test_a_registered_name_is_listed(toy):
    with pytest.raises(FairgymError, match="toy"):
        fairgym.make("nothing")
    assert "toy" in environments.names() and "loan" in environments.names()


def test_an_unknown_argument(toy):
    with pytest.raises(
        FairgymError,
        match="unknown argument 'size' for toy; it takes: population, horizon, places, seats",
    ):
        fairgym.make("toy", size=3)


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("population", 1, "population is 1"),
        ("population", 2_000_000, "population is 2000000"),
        ("horizon", 0, "horizon is 0"),
        ("places", 13, "places is 13"),
    ],
)
def test_values_that_an_environment_refuses(toy, argument, value, message):
    with pytest.raises(FairgymError, match=f"{message}; it takes a whole number from") as caught:
        fairgym.make("toy", **{argument: value})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [12.0, True, "12", None, 0, 100])
def test_shapes_are_whole_numbers_within_their_bounds(value):
    with pytest.raises(FairgymError, match=f"rooms is {value!r}; it takes a whole number from 1"):
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
        "from fairgym.core import Registry\nshelf = Registry('shelf', 'thing')\n"
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
        "from fairgym.core import Registry\nmaps = Registry('atlas', 'map', grouped=True)\n"
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
    with pytest.raises(FairgymError, match="unknown map 'old_world'; there are: globe, old-world"):
        atlas.maps.get("old_world")
    for name in [name for name in sys.modules if name.split(".")[0] == "atlas"]:
        monkeypatch.delitem(sys.modules, name)


def test_equal_environments_share_compiled_programs():
    assert Toy() == dataclasses.replace(Toy(seats=1), seats=2)
    assert hash(Toy()) == hash(Toy()) and Toy() != Toy(seats=1)


def test_import_is_light():
    """`import fairgym` needs jax, equinox, optax, jaxtyping and numpy, and nothing else."""
    code = (
        "import sys, fairgym\n"
        "heavy = 'pandas pyarrow sklearn matplotlib scipy.stats tyro rich yaml gymnasium"
        " pettingzoo beartype hypothesis pytest'.split()\n"
        "print(*[name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
