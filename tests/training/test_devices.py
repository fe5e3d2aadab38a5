"""What `fairgym.configure` sets up in a fresh process, and which user settings it keeps."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairgym.training import devices

# What JAX is like before and after `configure`, what the compile cache did, and what was warned.
PROGRAM = """
import json, logging, sys, warnings
import jax, fairgym
from jax._src import xla_bridge
from jax._src.lib import utils

hits, levels = [], []
def count(event, **_):
    if event == "/jax/compilation_cache/cache_hits":
        hits.append(event)
jax.monitoring.register_event_listener(count)
utils.absl_set_min_log_level = levels.append  # of XLA's log

seen = {"running": xla_bridge.backends_are_initialized()}
seen["cache_of_import"] = jax.config.jax_compilation_cache_dir
logging.getLogger("jax").setLevel(35)
if "configure" in sys.argv:
    fairgym.configure(); fairgym.configure()
seen["running_after"] = xla_bridge.backends_are_initialized()
if "train" in sys.argv:
    import two_servers  # which compiles quickly
    config = fairgym.RunConfig(
        "two_servers", algorithm="grid-search", algorithm_args={"steps": 2, "episodes": 1}
    )
    fairgym.train(config, sys.argv[-1])
from fairgym.training import devices
seen["devices"], seen["cores"] = jax.local_device_count(), devices.cores()
seen["cache"] = jax.config.jax_compilation_cache_dir
seen["level"], seen["levels_of_xla"] = logging.getLogger("jax").level, levels
with warnings.catch_warnings(record=True) as told:
    if "late" in sys.argv:
        devices.cores = lambda: 99
        fairgym.configure()
print(json.dumps({**seen, "hits": len(hits), "told": [str(one.message) for one in told]}))
"""
# How often a function is traced and how many memory maps there are: with maps to spare, and then
# with none.
FORGETTING = """
import json, sys
import jax, jax.numpy as jnp
import fairgym, two_servers
from fairgym.training import devices

def trained(name):
    config = fairgym.RunConfig(
        "two_servers", algorithm="grid-search", algorithm_args={"steps": 2, "episodes": 1}
    )
    run = fairgym.train(config, sys.argv[-1] + "/" + name)
    return [line["objective"] for line in run.metrics]

def note():
    doubled(jnp.zeros(1))
    seen["traced"].append(len(traced))
    seen["maps"].append(len(devices.MAPS.read_bytes().splitlines()))

seen, traced = {"traced": [], "maps": []}, []
@jax.jit
def doubled(x):
    traced.append(x.shape)
    return 2 * x
for size in range(1, 60):
    doubled(jnp.zeros(size))
devices.MOST_MAPS = 60_000
seen["objectives"] = [trained("a")]
note()
devices.MOST_MAPS = 0
devices.keep_programs()
note()
seen["objectives"].append(trained("b"))
note()
print(json.dumps(seen))
"""
# Level of Abseil's log that leaves errors out, and with them the alarm about slow compilation.
FATAL = 3


def run(*arguments, program=PROGRAM, **environment):
    """What a fresh process of a user with these variables prints."""
    ours = ("JAX_", "XLA_", "TF_CPP")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    kept["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=kept | {"JAX_PLATFORMS": "cpu"} | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.full
def test_the_second_process_loads_compiled_programs_and_uses_every_core(tmp_path):
    """The first one only trains, on as many devices, which keeps the programs too."""
    cache = tmp_path / "cache" / "fairgym" / "jax"
    quick = ("JAX_DISABLE_MOST_OPTIMIZATIONS", "XLA_FLAGS")  # to compile, as in every test
    home = {name: os.environ[name] for name in quick if name in os.environ}
    home["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    first = run("train", str(tmp_path / "a"), JAX_NUM_CPU_DEVICES=str(devices.cores()), **home)
    assert first["cache"] == str(cache)
    kept = len(list(cache.glob("*-cache")))
    second = run("configure", "train", str(tmp_path / "b"), **home)
    # each of the first one's programs, besides those that a run itself needs twice
    assert second["cache"] == str(cache) and second["hits"] >= first["hits"] + kept > first["hits"]
    assert second["devices"] == second["cores"]
    for seen in (first, second):
        assert not seen["running"] and not seen["running_after"]
        assert seen["cache_of_import"] is None
        assert seen["level"] == 35 and FATAL in seen["levels_of_xla"]


OF_THE_USER = [
    (
        {
            "JAX_NUM_CPU_DEVICES": "7",
            "JAX_COMPILATION_CACHE_DIR": "/elsewhere",
            "TF_CPP_MIN_LOG_LEVEL": "0",
        },
        (7, "/elsewhere", []),
    ),
    pytest.param(
        {
            "XLA_FLAGS": "--xla_force_host_platform_device_count=3",
            "JAX_ENABLE_COMPILATION_CACHE": "0",
            "JAX_LOGGING_LEVEL": "INFO",
        },
        (3, None, []),
        marks=pytest.mark.full,
    ),
]


@pytest.mark.parametrize(("variables", "kept"), OF_THE_USER)
def test_what_the_user_has_set_stays(variables, kept):
    seen = run("configure", **variables)
    assert (seen["devices"], seen["cache"], seen["levels_of_xla"]) == kept


@pytest.mark.full
def test_a_late_call_says_that_it_is_too_late_for_the_cores():
    (told,) = run("late")["told"]
    assert told.startswith("JAX is already running on 1 of 99 processor cores;")


@pytest.mark.skipif(not devices.MAPS.exists(), reason="only Linux limits memory maps")
def test_programs_are_forgotten_where_they_take_too_many_memory_maps(tmp_path):
    """Otherwise the compiler ends the process after the programs of some 30 different runs."""
    seen = run(str(tmp_path), program=FORGETTING)
    assert seen["traced"] == [59, 60, 61]  # by `keep_programs`, and by `train`
    before, after, _ = seen["maps"]
    assert after < before - 2 * 59
    first, second = seen["objectives"]
    assert first == second and len(first) == 2
