"""Set-up of JAX: one device per processor core, and a cache of compiled programs."""

import contextlib
import gc
import logging
import os
import sys
import warnings
from pathlib import Path

import jax

# A compiled program takes dozens of memory maps. Linux gives a process 65,530 by default; beyond
# them the compiler ends the process. The programs of a run take up to 3,000.
MAPS = Path("/proc/self/maps")
MOST_MAPS = 35_000


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cache_folder() -> Path:
    """Return the folder of compiled programs: "fairgym/jax" in the user's cache folder."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "fairgym" / "jax"


def configure() -> None:
    """Set up JAX for fairgym; call it once, before JAX is first used.

    - Shows the processor to JAX as one device per core; episodes are split over devices.
    - Keeps compiled programs in the user's cache folder, so that the next process loads them.
    - Silences XLA's slow-compilation warning, and XLA's log of errors that JAX raises anyway.

    Settings of the user are kept (`JAX_NUM_CPU_DEVICES`, `XLA_FLAGS`, `JAX_COMPILATION_CACHE_DIR`,
    `JAX_ENABLE_COMPILATION_CACHE`, `JAX_LOGGING_LEVEL`, `TF_CPP_MIN_LOG_LEVEL`, or the same in
    `jax.config`). The commands call it. In Python, `train` and `evaluate` do all of it except the
    devices.

    Warns:
        RuntimeWarning: If JAX is already running on fewer devices than cores.

    Examples:
        >>> import fairgym
        >>> fairgym.configure()
    """
    chosen = "host_platform_device_count" in os.environ.get("XLA_FLAGS", "")
    if not chosen and jax.config.values["jax_num_cpu_devices"] < 1:
        try:
            jax.config.update("jax_num_cpu_devices", cores())
        except RuntimeError:  # JAX is already running
            if jax.default_backend() == "cpu" and jax.local_device_count() < cores():
                warnings.warn(
                    f"JAX is already running on {jax.local_device_count()} of {cores()} processor"
                    " cores; call fairgym.configure() before JAX is first used",
                    RuntimeWarning,
                    stacklevel=2,
                )
    keep_programs()


def keep_programs() -> None:
    """Keep compiled programs in `cache_folder`, and silence XLA's slow-compilation warning.

    Settings of the user are kept. It can be called at any time. Where programs take too many memory
    maps, they are forgotten, so that one process can train and evaluate any number of runs.
    """
    if many_programs():
        jax.clear_caches()
        gc.collect()
    values = jax.config.values
    if values["jax_enable_compilation_cache"] and values["jax_compilation_cache_dir"] is None:
        with contextlib.suppress(RuntimeError):  # no home folder: no cache
            jax.config.update("jax_compilation_cache_dir", str(cache_folder()))
            if values["jax_persistent_cache_min_compile_time_secs"] == 1.0:  # JAX's default
                jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    _quieten_xla()


def many_programs() -> bool:
    """Return whether the programs in memory take so many memory maps that Linux may run out."""
    try:
        return len(MAPS.read_bytes().splitlines()) > MOST_MAPS
    except OSError:  # another system
        return False


def _quieten_xla() -> None:
    """Keep XLA's log from standard error, unless the user has chosen a level.

    XLA logs compilation of over two minutes as an error, and has no switch for this. JAX sets the
    level of XLA's log together with that of its own loggers, whose levels are restored here.
    """
    chosen = jax.config.values["jax_logging_level"]
    for_xla = os.environ.get("TF_CPP_MIN_LOG_LEVEL", "1")  # JAX sets 1 itself
    if for_xla != "1" or chosen not in (None, "NOTSET"):
        return
    loggers = [logging.getLogger(name) for name in ("jax", "jaxlib")]
    levels = [logger.level for logger in loggers]
    jax.config.update("jax_logging_level", "CRITICAL")
    jax.config.update("jax_logging_level", chosen)
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
