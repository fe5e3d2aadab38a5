"""Provenance of a result: versions, device, source commit, data, date."""

import functools
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import jax

from fairgym._version import __version__
from fairgym.config.run_config import Job, RunConfig, registered


def needed_modules(config: RunConfig) -> tuple[str, ...]:
    """Return the modules to import before a configuration can be built, each once.

    They registered the environment, the algorithm and the metric classes, if these are neither
    fairgym's own nor installed with entry points. "__main__" stands for a script, which cannot be
    imported.
    """
    found = [registry.module_of(name) for _, name, registry in registered(config)]
    return tuple(dict.fromkeys(module for module in found if module is not None))


def provenance(job: Job) -> dict[str, Any]:
    """Return the provenance of a result that begins now."""
    device, config = jax.local_devices()[0], job.config
    installed = [registry.distribution_of(name) for _, name, registry in registered(config)]
    return {
        "versions": {
            "python": platform.python_version(),
            **{name: _version(name) for name in ("fairgym", "jax", "jaxlib", "equinox", "numpy")},
            **dict(source.split(" ", 1) for source in installed if source and " " in source),
        },
        "platform": f"{sys.platform} {platform.machine()}",
        "device": {
            "platform": device.platform,
            "kind": device.device_kind,
            "count": jax.local_device_count(),
        },
        "git_commit": source_commit(),
        "data_checksum": job.env.spec.data_checksum,
        "started": now(),
    }


def now() -> str:
    """Return the current time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@functools.cache
def _version(name: str) -> str:
    if name == "fairgym":
        return __version__
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def source_commit() -> str:
    """Return the commit of the source tree, with "+changes" if files differ; "" if installed."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return ""

    def git(*arguments: str) -> str:
        result = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10
        )
        return result.stdout.strip() if result.returncode == 0 else ""

    try:
        commit = git("rev-parse", "HEAD")
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "src")
    except (OSError, subprocess.SubprocessError):
        return ""
    return f"{commit}+changes" if commit and changed else commit
