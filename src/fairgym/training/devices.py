"""Making the best of the machine: one device per processor core, compiled programs kept."""

import contextlib
import os
import sys
from pathlib import Path

import jax


def cores() -> int:
    """Processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cache_folder() -> Path:
    """Folder of compiled programs: "fairgym/jax" in the user's cache folder."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "fairgym" / "jax"


def configure() -> None:
    """Set JAX up for training; call it before JAX is first used.

    The processor shows up as one device per core, over which `map_episodes` splits the episodes.
    Compiled programs are kept on disk. What the user has set (`JAX_NUM_CPU_DEVICES`, `XLA_FLAGS`,
    `JAX_COMPILATION_CACHE_DIR`) stays; so does everything if JAX is already running.
    """
    chosen = "host_platform_device_count" in os.environ.get("XLA_FLAGS", "")
    if not chosen and jax.config.values["jax_num_cpu_devices"] < 1:
        with contextlib.suppress(RuntimeError):  # JAX is already running
            jax.config.update("jax_num_cpu_devices", cores())
    if jax.config.values["jax_compilation_cache_dir"] is None:
        with contextlib.suppress(RuntimeError):  # no home folder: nothing is kept
            jax.config.update("jax_compilation_cache_dir", str(cache_folder()))
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
