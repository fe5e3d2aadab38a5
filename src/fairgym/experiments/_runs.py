"""The runs of experiments: where they lie, which are finished, and training the rest."""

import contextlib
import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from fairgym.core import make
from fairgym.training.config import RunConfig
from fairgym.training.folder import RunFolder, seed_folder
from fairgym.training.run import Progress, Run, load, train

# What is trained -> a context that yields what `train` tells its progress to.
Shown = Callable[[str], contextlib.AbstractContextManager[Progress]]


@dataclasses.dataclass(frozen=True)
class Planned:
    """One run.

    Attributes:
        config: the complete configuration, seed included.
        folder: its run folder.
        label: in words.
    """

    config: RunConfig
    folder: Path
    label: str

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to train."""
        folder = RunFolder(self.folder)
        return folder.kind() == "run" and bool(folder.read_summary())


def plan(
    configs: Mapping[str, RunConfig], seeds: Sequence[int], out: Path
) -> dict[str, list[Planned]]:
    """The runs of these configurations by key, one per seed; nothing is written.

    Raises:
        FairgymError: a configuration that cannot be built, or a folder with something else in it.
    """
    found = {}
    for key, config in configs.items():
        job = config.build()
        checksum = job.env.data_checksum
        name, label = folder_name(job.config), label_of(job.config)
        found[key] = []
        for seed in seeds:
            one = dataclasses.replace(job.config, seed=seed)
            folder = seed_folder(out / "runs" / name, seed)
            RunFolder(folder).admit(one, checksum, resume=True, overwrite=False)
            found[key].append(Planned(one, folder, f"{label}, seed {seed}"))
    return found


def folder_name(config: RunConfig) -> str:
    """A readable name, and a hash of the complete configuration without its seed.

    Equal configurations of different experiments have one folder, others never do.
    """
    content = config.as_json()
    content.pop("seed")
    text = json.dumps(content, sort_keys=True)
    parts = [config.environment, config.algorithm, config.objective.replace(":", "-")]
    if config.fixed:
        parts += ["only", *_trained(config)]
    return "-".join([*parts, hashlib.sha256(text.encode()).hexdigest()[:10]])


def label_of(config: RunConfig) -> str:
    """A configuration in a few words."""
    words = [config.environment, config.algorithm, config.objective]
    if config.fixed:
        words.append(f"only {' and '.join(_trained(config)).replace('_', ' ')} trained")
    return ", ".join(words)


def _trained(config: RunConfig) -> list[str]:
    agents = make(config.environment, **config.environment_args).agents
    return [agent for agent in agents if agent not in config.fixed]


def unique(planned: Iterable[Planned]) -> list[Planned]:
    """Each run once, in the order of its first mention."""
    return list({one.folder: one for one in planned}.values())


def finish(one: Planned, shown: Shown, number: int, total: int) -> None:
    """Train one run unless it is finished; what was interrupted goes on where it stopped.

    Args:
        one: the run.
        shown: what is trained -> a context that yields its progress.
        number: of this run among all.
        total: number of all runs.
    """
    if not one.finished:
        with shown(f"run {number} of {total}: {one.label}") as told:
            train(one.config, one.folder, resume=True, progress=told)


def loaded(planned: dict[str, list[Planned]]) -> dict[str, list[Run]]:
    """The finished runs by key."""
    return {key: [load(one.folder) for one in several] for key, several in planned.items()}
