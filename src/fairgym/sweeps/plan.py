"""Plans of runs with their folders, and the protocol of engines that train them."""

import contextlib
import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from fairgym.config.differences import LONGEST, flatten, labels_of
from fairgym.config.plain import objective_slug, objective_text
from fairgym.config.run_config import RunConfig
from fairgym.config.text import slug_of
from fairgym.core import FairgymError
from fairgym.fairness.named_memories import short
from fairgym.training.folder import RunFolder, seed_folder
from fairgym.training.loop import Progress, train
from fairgym.training.provenance import needed_modules
from fairgym.training.run import Run, load
from fairgym.utils import make


@dataclasses.dataclass(frozen=True)
class Planned:
    """One planned run.

    Attributes:
        config: Complete configuration, including the seed.
        folder: Run folder.
        label: Name of the run in words.
        resume: Whether to continue what was begun in the folder.
        overwrite: Whether to replace what is in the folder.
        imports: Modules that another process must import first, because they register the
            environment or algorithm.
    """

    config: RunConfig
    folder: Path
    label: str
    resume: bool = True
    overwrite: bool = False
    imports: tuple[str, ...] = ()

    @property
    def finished(self) -> bool:
        """Whether nothing is left to train."""
        folder = RunFolder(self.folder)
        trained = self.resume and folder.kind() == "run" and bool(folder.read_summary())
        return trained and not folder.is_extended_by(self.config)

    @cached_property
    def program(self) -> str:
        """Key of the compiled program.

        It is equal for runs that differ only in seeds and in values of parameters, which are inputs
        of the program. Runs with other real hyperparameters or weights have other keys, although
        they may share a program (`fairgym.algorithms`).
        """
        content = self.config.as_json()
        content.pop("seed")
        content["params"] = {name: np.shape(n) for name, n in content["params"].items()}
        return json.dumps(content, sort_keys=True)

    def train(self, progress: Progress | None = None) -> None:
        """Train the run; `progress` as for `fairgym.training.train`."""
        train(
            self.config,
            self.folder,
            resume=self.resume,
            overwrite=self.overwrite,
            progress=progress,
        )

    def elsewhere(self) -> "Planned":
        """Return the run for another process, with its imports and an absolute folder."""
        modules = needed_modules(self.config)
        return dataclasses.replace(self, folder=self.folder.absolute(), imports=modules)

    def again(self) -> "Planned":
        """Return the run as it continues after an interruption."""
        if self.overwrite and not RunFolder(self.folder).replacement.config.exists():
            return self
        return dataclasses.replace(self, resume=True, overwrite=False)


# Run -> context that yields the `progress` of `train`.
Show = Callable[[Planned], contextlib.AbstractContextManager[Progress]]


class Failed(NamedTuple):
    """A run that failed.

    Attributes:
        run: The run.
        sentence: Reason of the failure.
    """

    run: Planned
    sentence: str


@runtime_checkable
class Engine(Protocol):
    """Protocol of classes that train the runs of a plan."""

    def run(
        self, planned: Sequence[Planned], show: Show, say: Callable[[str], None]
    ) -> list[Failed]:
        """Train each run that is not finished; continue runs that were begun.

        A run that fails with any exception does not stop the others.

        Args:
            planned: Runs of the plan.
            show: Run -> context that yields its progress.
            say: Called with further messages, a line each.

        Returns:
            The runs that failed, by their own errors or because their processes died repeatedly.
        """
        ...


def plan(
    configs: Mapping[str, RunConfig],
    seeds: Sequence[int] | Mapping[str, Sequence[int]],
    out: Path,
) -> dict[str, list[Planned]]:
    """Return the runs of these configurations by key, one per seed, without writing anything.

    Args:
        configs: Key -> configuration.
        seeds: Seeds of all configurations, or by key.
        out: Folder of the runs.

    Raises:
        FairgymError: A configuration cannot be built, or a folder holds something else.
    """
    jobs = {key: config.build() for key, config in configs.items()}
    labels = _labels({key: job.config for key, job in jobs.items()})
    found = {}
    for key, job in jobs.items():
        name, label = folder_name(job.config), labels[key]
        found[key] = []
        for seed in seeds[key] if isinstance(seeds, Mapping) else seeds:
            one = dataclasses.replace(job.config, seed=seed)
            folder = seed_folder(out / "runs" / name, seed)
            RunFolder(folder).admit(one, job.env, resume=True, overwrite=False)
            found[key].append(Planned(one, folder, f"{label}, seed {seed}"))
    return found


def plan_seeds(
    config: RunConfig,
    out: Path,
    seeds: Sequence[int],
    *,
    resume: bool = False,
    overwrite: bool = False,
) -> list[Planned]:
    """Return the runs of one configuration with several seeds, in `out`/seed-N.

    Args:
        config: Configuration of the runs; its seed is ignored.
        out: Folder for the run folders.
        seeds: Seeds of the runs.
        resume: As for `fairgym.train`.
        overwrite: As for `fairgym.train`.

    Raises:
        FairgymError: As `fairgym.train`; nothing is written.
    """
    if RunFolder(out).kind() == "run":
        raise FairgymError(f"{out} is itself the folder of a run; several seeds need another one")
    job = config.build()
    found = []
    for seed in seeds:
        one, folder = dataclasses.replace(job.config, seed=seed), seed_folder(out, seed)
        RunFolder(folder).admit(one, job.env, resume=resume, overwrite=overwrite)
        label = f"{config.environment}, {config.algorithm}, seed {seed}"
        found.append(Planned(one, folder, label, resume, overwrite))
    return found


def folder_name(config: RunConfig) -> str:
    """Return a readable name with a hash of the complete configuration without its seed.

    Equal configurations of different experiments share a folder, different ones never do.
    """
    content = config.as_json()
    content.pop("seed")
    text = json.dumps(content, sort_keys=True)
    parts = [config.environment, config.algorithm, objective_slug(config.objective)]
    parts += [slug_of(short(config.memory))] if config.memory else []
    if config.fixed:
        parts += ["only", *_trained(config)]
    return "-".join([*parts, hashlib.sha256(text.encode()).hexdigest()[:10]])


def label_of(config: RunConfig) -> str:
    """Return a configuration in a few words."""
    words = [config.environment, config.algorithm, objective_text(config.objective)]
    words += [f"memory {short(config.memory)}"] if config.memory else []
    if config.fixed:
        words.append(f"only {' and '.join(_trained(config)).replace('_', ' ')} trained")
    return ", ".join(words)


def _labels(configs: Mapping[str, RunConfig]) -> dict[str, str]:
    """Labels of configurations; equal ones get their differences, or their keys if shorter."""
    found = {key: label_of(config) for key, config in configs.items()}
    for label in set(found.values()):
        keys = [key for key, one in found.items() if one == label]
        several = labels_of([flatten(configs[key].as_json()) for key in keys])
        for key, more in zip(keys, several, strict=True):
            found[key] = ", ".join(filter(None, (label, more if len(more) <= LONGEST else key)))
    return found


def _trained(config: RunConfig) -> list[str]:
    agents = make(config.environment, **config.environment_args).agents
    return [agent for agent in agents if agent not in config.fixed]


def unique(planned: Iterable[Planned]) -> list[Planned]:
    """Return each run once, in the order of first occurrence."""
    return list({one.folder: one for one in planned}.values())


def unfinished(planned: Iterable[Planned]) -> list[Planned]:
    """Return each run that is not finished, once."""
    return [one for one in unique(planned) if not one.finished]


def loaded(planned: dict[str, list[Planned]]) -> dict[str, list[Run]]:
    """Return the finished runs by key."""
    return {key: [load(one.folder) for one in several] for key, several in planned.items()}
