"""What a training run begins from: a configuration file, a run to resume, or a preset."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairgym.cli.parsing import peek
from fairgym.config.files import import_listed, read_config_file
from fairgym.config.settings import ALGORITHM
from fairgym.config.text import by_field
from fairgym.core import FairgymError
from fairgym.training.folder import RunFolder, run_folders
from fairgym.utils.registry import environments


def base_settings(words: Sequence[str], named: str | None) -> dict[str, Any]:
    """Return the settings of `--config` or of the resumed run, with environment and algorithm."""
    path, out = peek(words, "--config"), peek(words, "--out")
    base: dict[str, Any] = {}
    if path is not None:
        base = by_field(read_config_file(path))
        if not isinstance(base.get("environment"), str | None):
            raise FairgymError(f"environment must be a name, got {base['environment']!r}")
        # modules that a run's config.json names are never imported from that run's folder
        import_listed(base, Path(path) if "format" in base else None)
        if base.get("environment") is not None:
            environments.get(base["environment"])  # also where it is overridden
    elif "--resume" in words and out is not None:
        first = run_folders(out)[0]
        if RunFolder(first).config.is_file():
            base = RunFolder(first).current.read_config().config.as_json()
            if first != Path(out):
                base.pop("seed")
        elif named is None:
            raise nothing_to_resume(out)
    changed = named is not None and base.get("environment", named) != named
    if changed and path is None:
        raise FairgymError(
            f"environment is {named!r}, but the run in {out} has {base['environment']!r};"
            " resume needs the same configuration"
        )
    if named is not None:
        base["environment"] = named
    algorithm = peek(words, "--algorithm")
    if algorithm is not None and path is None and base.get("algorithm", algorithm) != algorithm:
        base[ALGORITHM] = {}
    if algorithm is not None:
        base["algorithm"] = algorithm
    preset = peek(words, "--preset") or base.pop("preset", "")
    if preset:
        _begin_from(preset, base)
    return base


def _begin_from(preset: object, base: dict[str, Any]) -> None:
    """Add the hyperparameters of a preset that the file does not set."""
    from fairgym.benchmark.presets import preset_of

    if not isinstance(preset, str):
        raise FairgymError(f"preset must be a name, got {preset!r}")
    environment, algorithm = base.get("environment"), base.get("algorithm", "f-macem")
    found = preset_of(preset, str(environment), str(algorithm))
    given = base.get(ALGORITHM, {})
    flat = {name.replace("-", "_") for name in base}
    base[ALGORITHM] = {n: x for n, x in found.items() if n not in flat} | dict(given)


def begun(out: str | Path) -> bool:
    """Return whether a folder holds a run, or runs of several seeds."""
    return any(RunFolder(folder).config.exists() for folder in run_folders(out))


def nothing_to_resume(out: str | Path) -> FairgymError:
    """Return the error of `--resume` in a folder without a run."""
    return FairgymError(
        f"{out} holds no run to resume; give the folder of one, or leave out --resume to start a"
        " new run"
    )
