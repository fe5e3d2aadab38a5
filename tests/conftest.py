"""Set-up for every test: types checked at run time, quick compilation, two CPU devices.

All of it has to happen before `fairgym` is imported for the first time.
"""

import gc
import json
import os
from importlib.metadata import version
from pathlib import Path

# The toy systems, for tests and for the commands that they start.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(__file__).parent / "support"), *filter(None, [os.environ.get("PYTHONPATH")])]
)
# As environment variables, so that commands started by a test inherit them.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".jax-cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
# Most programs of the tests run for less time than the compiler would take to make them fast.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
# The older ways of compiling loops and of dividing programs among devices take less time, and
# compiling is most of the suite's time. Later compilers may not have them, and stop at a flag that
# they do not know. `tests/training/test_devices.py` and some tests of batching are without.
if version("jaxlib").startswith("0.10."):
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false")
    os.environ.setdefault("JAX_USE_SHARDY_PARTITIONER", "false")

import beartype.typing  # noqa: F401 - for CHECKER
import jax
import jaxtyping
import pytest
from hypothesis import settings

# A drawn case may meet the compiler, or a collection of garbage.
settings.register_profile("fairgym", deadline=None)
settings.load_profile("fairgym")

# Two devices, so that the sharded paths are walked on any machine.
jax.config.update("jax_num_cpu_devices", 2)

# The hook decorates methods one by one, where beartype cannot know what Self is; and an int does
# for a float, as it does for the static checker.
CHECKER = (
    "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True, "
    "hint_overrides=beartype.FrozenDict({beartype.typing.Self: object})))"
)
if os.environ.get("CHECK_TYPES", "1") == "1":
    jaxtyping.install_import_hook("fairgym", CHECKER)

# Tracing makes many objects that live on; to look among them for garbage took a twentieth of the
# time.
gc.set_threshold(100_000, 20, 50)

# Traced and compiled programs take memory: 7.5 GB per process at the end of all tests. Not all
# of it is given back, so it is the growth since the last time that counts.
PAGES = Path("/proc/self/statm")
MOST_GROWTH = 3 * 2**30
kept_bytes = [2**30]

# What differs between equal runs.
TIMES = ("started", "finished", "wall_time_s", "steps_a_second")


@pytest.fixture(autouse=True, scope="module")
def _few_programs_in_memory():
    """Forget compiled programs after a module, once there are many; they are kept on the disk."""
    from fairgym.training import devices  # after the hook

    yield
    if not PAGES.exists():
        return
    grown = _resident_bytes() - kept_bytes[-1]
    if grown > MOST_GROWTH or devices.many_programs():
        jax.clear_caches()
        gc.collect()
        kept_bytes.append(_resident_bytes())


def _resident_bytes():
    return int(PAGES.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(scope="module")
def fast_programs():
    """The compiler's optimisations: for tests that compute for longer than they compile."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", before)


@pytest.fixture
def own_metric_classes(monkeypatch):
    """The registry of metric classes, which forgets what a test registers."""
    from fairgym.fairness import metric_classes

    for known in ("_things", "_registered_by"):
        monkeypatch.setattr(metric_classes, known, dict(getattr(metric_classes, known)))
    return metric_classes


@pytest.fixture(scope="session")
def results():
    """Folder -> everything that must be equal between equal runs."""

    def read(folder):
        folder = Path(folder)
        summary = json.loads((folder / "summary.json").read_text())
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        for values in (summary, *lines):
            for name in TIMES:
                values.pop(name, None)
        return summary, lines, (folder / "policy.eqx").read_bytes()

    return read


# A small run of F-MACEM on an environment that compiles quickly.
SMALL = {
    "environment": "two_servers",
    "epochs": 4,
    "episodes_per_epoch": 4,
    "evaluation_episodes": 2,
    "hidden": 2,
}


@pytest.fixture(scope="session")
def small():
    """The configuration of a small run of F-MACEM."""
    import two_servers  # noqa: F401 - registers itself

    from fairgym.config import RunConfig

    return RunConfig.from_mapping(SMALL)


@pytest.fixture(scope="session")
def finished(small, tmp_path_factory):
    """That run, uninterrupted; not to be written to."""
    from fairgym.training import train

    return train(small, tmp_path_factory.mktemp("runs") / "small")
