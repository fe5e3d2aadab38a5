"""Modules that a run needs: recorded, imported again, and never taken from the run itself."""

import json
import shutil
import sys

import pytest
import two_servers  # noqa: F401 - registers an environment that compiles quickly
from toy_algorithm import toy_config

from fairgym.algorithms import algorithms
from fairgym.cli import main
from fairgym.config import RunConfig
from fairgym.core import FairgymError
from fairgym.training import devices, load, loop, train
from fairgym.training.provenance import needed_modules
from fairgym.utils.plugins import import_plugin
from fairgym.utils.registry import environments

MODULE = '''
import dataclasses
import fairgym
from fairgym.algorithms import algorithms
from toys import Toy
from toy_algorithm import Toy as Walk

@fairgym.register_environment("plug-env")
@dataclasses.dataclass(frozen=True)
class Custom(Toy):
    """A custom environment."""

@algorithms.register("plug-walk")
@dataclasses.dataclass(frozen=True)
class Learner(Walk):
    """A walk."""
'''
GIVEN = {"environment": "plug-env", "algorithm": "plug-walk", "population": 12, "epochs": 1}
GIVEN["fixed"] = {"split": "random"}


def forget():
    """Remove what a fresh process would not have imported."""
    for name in [name for name in sys.modules if name.startswith("plug_")]:
        del sys.modules[name]
    for registry, name in ((environments, "plug-env"), (algorithms, "plug-walk")):
        registry._things.pop(name, None)
        registry._registered_by.pop(name, None)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A current folder with a custom module, removed afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "plug_mine.py").write_text(MODULE)
    yield tmp_path
    forget()


METRIC = """
import dataclasses
import jax.numpy as jnp
from fairgym.fairness import metric_classes

@metric_classes.register("LongestWait")
@dataclasses.dataclass(frozen=True)
class LongestWait:
    cap: float = 12.0
    kind = "fair"
    sign = -1
    title = "longest mean wait"

    def unit_in(self, info):
        return "months"

    def value(self, totals):
        longest = jnp.max(totals.waiting / jnp.maximum(totals.served, 1.0))
        return -jnp.minimum(longest, self.cap)

    def normalised(self, totals):
        return self.value(totals) / self.cap

    def defined(self, totals):
        return jnp.any(totals.served > 0)
"""
OWN_METRIC = {
    "environment": "two_servers",
    "algorithm": "grid-search",
    "algorithm_args": {"steps": 2, "episodes": 1},
    "environment_args": {"horizon": 4},
    "objective": {
        "weights": {"waiting": 1, "longest_wait": 1},
        "metrics": {"longest_wait": {"type": "LongestWait", "cap": 6}},
    },
}


@pytest.mark.parametrize("page", [False, pytest.param(True, marks=pytest.mark.full)])
def test_a_run_with_a_class_of_metric_of_ones_own(
    page, here, own_metric_classes, monkeypatch, capsys
):
    """Every command imports it again, as a fresh process does."""
    monkeypatch.setattr(devices, "configure", lambda: None)
    (here / "plug_metric.py").write_text(METRIC)
    (here / "own.json").write_text(json.dumps(OWN_METRIC))

    def fairgym(words):
        assert main(words.split()) == 0
        forget()
        own_metric_classes._things.pop("LongestWait")
        own_metric_classes._registered_by.pop("LongestWait")
        return capsys.readouterr().out

    fairgym("train --config own.json --import plug_metric --out x")
    stored = json.loads((here / "x" / "config.json").read_text())
    assert "plug_metric" in stored["imports"]
    assert "longest mean wait" in fairgym("evaluate x --episodes 2 --all").lower()
    if page:
        fairgym("report x --episodes 2")
        assert "longest mean wait" in (here / "x" / "report.html").read_text().lower()
    (here / "plug_metric.py").unlink()
    with pytest.raises(
        FairgymError,
        match=r"class of metric 'LongestWait', from .*, but there is no module 'plug_metric'",
    ):
        load(here / "x")


def test_the_environment_and_the_algorithm_need_their_modules_each_once(here):
    (here / "plug_learner.py").write_text(
        "import dataclasses\nfrom fairgym.algorithms import algorithms\n"
        "from toy_algorithm import Toy as Walk\n"
        "@algorithms.register('plug-other')\n@dataclasses.dataclass(frozen=True)\n"
        "class Other(Walk):\n    pass\n"
    )
    for module in ("plug_mine", "plug_learner"):
        import_plugin(module)
    try:
        needed = [
            needed_modules(RunConfig(environment, algorithm=algorithm))
            for environment in ("plug-env", "loan")
            for algorithm in ("plug-walk", "plug-other", "f-macem")
        ]
    finally:
        algorithms._things.pop("plug-other")
        algorithms._registered_by.pop("plug-other")
    mine, other = "plug_mine", "plug_learner"
    assert needed == [(mine,), (mine, other), (mine,), (mine,), (other,), ()]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run with custom parts."""
    home = tmp_path_factory.mktemp("home")
    (home / "plug_mine.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setattr(sys, "path", list(sys.path))
        train(RunConfig.from_mapping({**GIVEN, "imports": ["plug_mine"]}), home / "x")
    forget()
    return home / "x"


@pytest.fixture
def run(trained, here):
    """Its folder, as a fresh process finds it."""
    shutil.copytree(trained, here / "x")
    return here / "x"


def forge(run, **changes):
    path = run / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_run_records_its_modules_and_finds_them_again(run):
    assert json.loads((run / "config.json").read_text())["imports"] == ["plug_mine"]
    again = load(run)
    assert again.env.name == "toy" and again.config.environment == "plug-env"
    assert set(again.policies) == {"level", "rank", "split"}
    done = train(again.config, run, resume=True)
    assert done.summary["epochs"] == 1


NAMED = "importing module {!r} named by {}\n"


def test_the_modules_of_a_run_are_named_before_they_are_imported(run, here, monkeypatch, capsys):
    """On standard error, once, with the file that names them."""
    path = run / "config.json"
    (here / "plug_mine.py").write_text(f"{MODULE}\nprint('it runs')\n")
    (here / "plug_rule.py").write_text("def rule(observation, key):\n    return 0.5\n")
    forge(run, fixed={"split": "plug_rule:rule"})
    monkeypatch.setattr(devices, "configure", lambda: None)
    assert main(["train", "--resume", "--out", str(run), "--seed", "-1"]) == 2
    out, err = capsys.readouterr()
    assert out == "it runs\n"
    first = NAMED.format("plug_rule", path) + NAMED.format("plug_mine", path)
    assert err.startswith(first) and err.count("\n") == 3
    load(run)
    assert capsys.readouterr().err == "", "nothing is imported any more"


def test_a_module_is_named_before_it_ends_the_command(run, here, capsys):
    (here / "plug_mine.py").write_text("raise SystemExit(0)")
    with pytest.raises(FairgymError, match="'plug_mine' cannot be imported: SystemExit"):
        load(run)
    assert capsys.readouterr().err == NAMED.format("plug_mine", run / "config.json")


def test_the_configuration_of_a_run_is_no_other_given_as_a_file(run, here, monkeypatch, capsys):
    """Its modules are named, and neither they nor its rules are taken from its folder."""
    words = ["train", "--config", "config.json", "--seed", "-1"]
    monkeypatch.setattr(devices, "configure", lambda: None)
    monkeypatch.chdir(run)
    monkeypatch.setattr(sys, "path", [*sys.path, str(here)])
    assert main(words) == 2
    err = capsys.readouterr().err
    assert err.startswith(NAMED.format("plug_mine", "config.json")) and "got -1" in err
    (run / "plug_payload.py").write_text("import pathlib\npathlib.Path('ran').touch()\n")
    for changes in ({"imports": ["plug_payload"]}, {"fixed": {"split": "plug_payload:rule"}}):
        forge(run, **changes)
        assert main(words) == 2
        assert "from where nothing is imported" in capsys.readouterr().err
    assert not (run / "ran").exists()


def test_modules_beside_the_configuration_do_not_belong_to_it(run):
    """Checkpoints and comparisons see the same configuration as without them."""
    assert "imports" not in load(run).config.as_json()
    assert b"plug_mine" not in (run / "policy.eqx").read_bytes()


def test_a_run_of_fairgyms_own_parts_records_none(here, monkeypatch):
    monkeypatch.setattr(loop, "needed_modules", lambda config: ())  # as of `loan` and F-MACEM
    train(toy_config(epochs=1), here / "own")
    assert "imports" not in json.loads((here / "own" / "config.json").read_text())


def test_the_registering_module_is_recorded_not_that_of_the_class(here):
    """A class may be registered elsewhere than it is written."""
    (here / "plug_late.py").write_text(
        "import fairgym\nfrom toys import Toy\nfairgym.register_environment('plug-env')(Toy)\n"
    )
    (here / "plug_mine.py").write_text("import plug_late")
    config = {**GIVEN, "algorithm": "toy", "imports": ["plug_mine"]}
    train(toy_config(**config), here / "x")
    recorded = json.loads((here / "x" / "config.json").read_text())["imports"]
    assert "plug_late" in recorded and not any("fairgym" in name for name in recorded)
    forget()
    assert load(here / "x").env.name == "toy"


def test_a_missing_module_is_one_sentence(run, here):
    (here / "plug_mine.py").rename(here / "plug_renamed.py")
    with pytest.raises(
        FairgymError,
        match=r"x needs the environment 'plug-env' and the algorithm 'plug-walk', from plug_mine,"
        r" but there is no module 'plug_mine' .*; give the module that registers it with",
    ):
        load(run)
    import plug_renamed  # noqa: F401  # pyright: ignore[reportMissingImports]

    assert load(run).env.name == "toy", "what is known does not depend on the module's name"


def test_a_module_that_no_longer_registers_or_raises(run, here):
    (here / "plug_mine.py").write_text("")
    with pytest.raises(FairgymError, match="but the environment 'plug-env' is still unknown"):
        load(run)
    forget()
    (here / "plug_mine.py").write_text("1 / 0 # zero")
    with pytest.raises(FairgymError, match="'plug_mine' cannot be imported: ZeroDivisionError"):
        load(run)


def test_what_a_script_registered_cannot_be_found_again(run):
    forge(run, imports=["__main__"])
    with pytest.raises(FairgymError, match="'plug-env' was registered by a script, which no"):
        load(run)


@pytest.mark.parametrize("imports", ["plug_mine", 3, None, {"a": 1}, [3], [["plug_mine"]]])
def test_records_that_are_none(run, imports):
    forge(run, imports=imports)
    with pytest.raises(FairgymError, match=r"imports is .*, not names of modules"):
        load(run)


@pytest.mark.parametrize(
    ("name", "at", "given"),
    [
        ("x.payload", "x/payload.py", "x"),
        ("x", "x/__init__.py", "x"),
        ("many.payload", "many/payload.py", "many/seed-0"),
        ("many.seed_0.payload", "many/seed_0/payload.py", "many/seed-0"),
        ("../x/payload", "x/payload.py", "x"),
        ("x/payload.py", "x/payload.py", "x"),
        ("/etc/passwd", "x/payload.py", "x"),
    ],
)
def test_nothing_runs_that_came_with_a_run(name, at, given, run, here):
    """A forged record cannot name a file of the run folder, nor of a folder of seeds."""
    if given != "x":
        shutil.copytree(run, here / given)
    (here / at).parent.mkdir(exist_ok=True)
    (here / at).write_text("import pathlib\npathlib.Path('/'.join(['ran'])).touch()\n")
    forge(here / given, imports=[name], environment="plug-other")
    with pytest.raises(FairgymError, match="'plug-other'"):
        load(given)
    assert not (here / "ran").exists()


@pytest.mark.parametrize("given", [".", "seed-0"])
def test_nothing_runs_that_came_with_a_run_in_the_current_folder(given, run, here, monkeypatch):
    folder = here / "many" / "seed-0"
    shutil.copytree(run, folder)
    inside = folder if given == "." else folder.parent
    (inside / "plug_payload.py").write_text("import pathlib\npathlib.Path('ran').touch()\n")
    forge(folder, imports=["plug_payload"], environment="plug-other")
    monkeypatch.chdir(inside)
    with pytest.raises(FairgymError, match="from where nothing is imported"):
        load(given)
    assert not (inside / "ran").exists()


def test_a_rule_is_not_looked_for_in_the_run(run, here):
    (here / "x" / "payload.py").write_text("import pathlib\npathlib.Path('ran').touch()\n")
    forge(run, fixed={"split": "x.payload:rule"})
    with pytest.raises(
        FairgymError, match=r"x needs the rule 'x\.payload:rule' of 'split', but .*nothing is"
    ):
        load(run)
    assert not (here / "ran").exists()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("later: 'Missing' = 3", "fields of Custom cannot be read .NameError: .*'Missing'"),
        (
            "default_params = {'a': 1}",
            "default_params of toy must be of a subclass of .*, got dict",
        ),
    ],
)
def test_what_others_got_wrong_is_one_sentence(lines, message, here):
    (here / "plug_mine.py").write_text(MODULE.replace('"""A custom environment."""', lines))
    with pytest.raises(FairgymError, match=message):
        RunConfig.from_mapping({**GIVEN, "imports": ["plug_mine"]})


def test_imports_of_a_mapping_are_names():
    with pytest.raises(
        FairgymError, match="imports must be a list of module names, got 'plug_mine'"
    ):
        RunConfig.from_mapping({**GIVEN, "imports": "plug_mine"})
    with pytest.raises(FairgymError, match="there is no module 'plug_none'"):
        RunConfig.from_mapping({**GIVEN, "imports": ["plug_none"]})
