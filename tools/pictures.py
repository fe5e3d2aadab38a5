"""Make the pictures of the docs: `make pictures`, or one by one.

    python tools/pictures.py                  # those that are stale or missing
    python tools/pictures.py readme           # these, stale or not
    python tools/pictures.py --list           # what is stale, without making anything

`PICTURES` says for every `docs/images/NAME.png` what it is drawn from. Training that is missing
goes to `runs/pictures`, where it is reused, and resumed after a stop. Expect five minutes for the
picture of the README from an empty folder, on two quiet cores; the gallery takes a minute, and so
do the figures of audits and of what-ifs.

`docs/images/pictures.json` keeps, for every picture, a fingerprint of what it is made from and a
hash of the numbers in it. The fingerprint covers the configuration of training and measuring, the
environment's version, constructor and titles of measures, the algorithm's hyperparameters, the
roles and the table of an audit, the command and the declared worlds of a what-if, the palettes, and
`DRAWING`. So `--list`, and `tests/tools/test_pictures.py`, find stale pictures in seconds. It does
not cover source code, which changes daily without changing a picture: raise `DRAWING` when figures
look different. The hash of the numbers tells, after a picture was made anew, whether only its look
has changed.
"""

import argparse
import contextlib
import dataclasses
import functools
import hashlib
import inspect
import io
import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import example_pages
import jax
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import fairgym
from fairgym.algorithms import algorithms
from fairgym.audit import Audit, Roles, audit
from fairgym.audit.examples import PREFIX, example_config, example_table
from fairgym.audit.figures import figures_of
from fairgym.audit.write import read_config
from fairgym.cli.simulate import plan_of
from fairgym.core import Environment
from fairgym.policies import fixed_policies
from fairgym.report import Measured, looks, measure, numbers_of, style
from fairgym.report.drawn import curve, keep
from fairgym.report.svg import png
from fairgym.report.what_if_figures import worlds_figure
from fairgym.results.estimates import cumulative_rates
from fairgym.results.labels import capital, disparities, metric_labels, rate_title, words
from fairgym.results.numbers import limits_of, people_unit
from fairgym.results.rows import effects
from fairgym.results.what_if import rivals
from fairgym.training import simulate
from fairgym.training.reforms import declared_by
from fairgym.utils.registry import environments

ROOT = Path(__file__).parents[1]
IMAGES, RUNS = ROOT / "docs" / "images", ROOT / "runs" / "pictures"
STAMPS = IMAGES / "pictures.json"
DRAWING = 1  # raised when figures look different
DPI = 120

# ---------------------------------------------------------------- trained policies

TRAINED = fairgym.RunConfig(
    "loan",
    environment_args={"population": 1_000},
    algorithm="f-macem",
    algorithm_args={"epochs": 40},
    objective="uniform",
)
SEEDS, EPISODES, EPISODE_SEED = (0, 1, 2), 32, 1


@functools.cache
def measured() -> Measured:
    """Train what is missing, and measure it beside the baselines."""
    folder = RUNS / TRAINED.environment
    print(f"training {TRAINED.environment} in {folder}", flush=True)
    fairgym.train_seeds(TRAINED, folder, SEEDS, resume=True)
    return measure([folder], episodes=EPISODES, seed=EPISODE_SEED)


@style.styled
def learned_lending(page: Measured) -> Figure:
    """Plot what a bank learns: its score over training, and who has been paid out.

    Args:
        page: learned policies in loan, and their baselines.
    """
    (group,), (own,), (pair,) = page.groups, page.learned, page.pairs
    rule = pair[1]
    assert rule is not None
    figure, (first, *others) = style.panels(3, 3, 2.9)
    score = group.series("objective")
    learned = style.policy_line(0)
    curve(first, score.epochs, score.mean, score.low, score.high, label="learned", **learned)
    level = page.references[rule.name]["objective"]
    first.axhline(level, **style.baseline_line(0))
    keep(first, "rule", "every epoch", level)
    style.set_title(first, "Training raises the score")
    style.set_ylabel(first, "score of an episode (profit and fairness)")
    style.epoch_axis(first, "epoch of training")
    low, _ = first.get_ylim()
    first.set_ylim(min(low, level), None)
    ends = [(float(score.mean[-1]), "learned", learned["color"])]
    style.label_line_ends(first, [*ends, (level, "rule", style.BASELINE_COLOUR)])
    rate = page.env.metrics["served_disparity"].rate
    titles = ("With a simple rule, all are paid", "As learned, many never are")
    for panel, one, heading in zip(others, (rule, own), titles, strict=True):
        rates = [cumulative_rates(e.trace, rate, e.discount) for e in one.evaluations]
        panel.set_ylim(0.0, 100.0)
        _lines(panel, page.env, 100.0 * np.concatenate(rates), page.env.spec.groups, (0.0, 100.0))
        style.set_title(panel, heading)
        panel.set_ylabel("% of the approved\npaid out so far")
    return figure


# ---------------------------------------------------------------- small episodes of baselines


@dataclasses.dataclass(frozen=True)
class Small:
    """A few episodes of a baseline in one system.

    Attributes:
        baseline: key of `env.spec.baselines`.
        shown: the disparity whose rate is shown by group; or a component, summed over the steps.
        args: arguments of the environment.
        episodes: number of episodes; lines are means over them, bands hold nine of ten.
    """

    baseline: str
    shown: str
    args: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    episodes: int = 16


GALLERY = {
    "loan": Small("thresholds_half_no_relief", "default_disparity", {"population": 1_000}),
    "loan_simple": Small("thresholds_half_no_relief", "admission_disparity"),
    "health": Small("premium_half_no_planner", "insured_disparity", {"population": 1_000}),
    "education": Small("plausible_fixed_policy", "bachelor_disparity", {"population": 1_000}),
    "doughnut": Small("random_present", "handed_out", episodes=1),
    "lending_pool": Small("random_present", "default_disparity"),
    "bank_loans": Small("threshold", "tpr_disparity"),
    "college_admissions": Small("continuous_jury", "burden_disparity"),
    "epidemic": Small("highest_degree", "vaccine_disparity", episodes=64),
    "attention": Small("proportional", "discovery_disparity"),
}


@style.styled
def small_episode(name: str) -> Figure:
    """Plot the groups over the steps of an episode of a baseline.

    Args:
        name: a key of `GALLERY`.
    """
    small = GALLERY[name]
    env = fairgym.make(name, **small.args)
    policies = fixed_policies(env, env.spec.baselines[small.baseline])
    played = fairgym.evaluate(
        env, env.default_params, policies, jax.random.key(0), small.episodes, trace=True
    )
    figure, (panel,) = style.panels(1, 1, 2.6)
    figure.set_size_inches(5.0, 2.6)
    info = env.spec.component_info
    if small.shown in disparities(env):
        rate = env.metrics[small.shown].rate
        unit, text = rate.unit_in(info), rate_title(env, small.shown)
        values = cumulative_rates(played.trace, rate)
        limits = limits_of(unit, info[rate.numerator].nonnegative)
        names: Sequence[str] = env.spec.groups
    else:
        unit, text = info[small.shown].unit, info[small.shown].description
        values = np.cumsum(np.asarray(getattr(played.trace, small.shown), np.float64), axis=1)
        limits = limits_of(unit)
        names = [f"person {place + 1}" for place in range(values.shape[2])]
    shown, factor = people_unit(unit)
    _lines(panel, env, factor * values, names, (factor * limits[0], factor * limits[1]))
    style.set_title(panel, f"{capital(text)}, so far")
    panel.set_ylabel(shown)
    return figure


def _lines(
    panel: Axes,
    env: Environment,
    values: np.ndarray,
    names: Sequence[str],
    limits: tuple[float, float],
) -> None:
    """Draw a line for each group over the steps, named at its end.

    Args:
        panel: the panel.
        env: the environment.
        values: (episodes, steps, groups); NaN where undefined.
        names: names of the groups.
        limits: range that the values can have.
    """
    ends = []
    for code, name in enumerate(names):
        own = values[:, :, code]
        known = np.isfinite(own).any(axis=0)
        steps, line = np.flatnonzero(known) + 1, np.nanmean(own[:, known], axis=0)
        band = np.nanpercentile(own[:, known], (5, 95), axis=0) if len(own) > 1 else (None, None)
        look = style.group_line(code)
        alpha = 2 * style.BAND_ALPHA / max(2, len(names))
        curve(panel, steps, line, *band, label=words(name), alpha=alpha, **look)
        ends.append((float(line[-1]), words(name), look["color"]))
    panel.set_xlabel(f"time ({env.spec.time_unit})")
    panel.set_xlim(0, values.shape[1])
    style.keep_within(panel, "y", *limits)
    style.label_line_ends(panel, ends)


# ---------------------------------------------------------------- pages with code


def code_of(page: str) -> str:
    """The Python of a page of the docs."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.M | re.S))


def figure_of(page: str) -> Figure:
    """Run the Python of a page, and return the last figure that it makes."""
    found: dict[str, Any] = {}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # which takes the page's files
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(code_of(page), page, "exec"), found)
        finally:
            os.chdir(here)
    return found["figure"]


# ---------------------------------------------------------------- the pictures


@dataclasses.dataclass(frozen=True)
class Picture:
    """One picture.

    Attributes:
        environment: the system that it shows.
        draw: makes the figure; takes what `measured` returns if the picture is of learned policies.
        trained: whether it is of the policies of `TRAINED`.
        page: page whose code makes it, if any.
    """

    environment: str
    draw: Callable[..., Figure]
    trained: bool = False
    page: str = ""

    def figure(self) -> Figure:
        """Make the figure."""
        return self.draw(measured()) if self.trained else self.draw()

    def fingerprint(self) -> str:
        """Hash of what the picture is made from."""
        return _hash([DRAWING, _looks(), self._source()])

    def _source(self) -> Any:
        if self.trained:
            env = TRAINED.build().env
            defaults = _defaults(TRAINED.algorithm)
            how: Any = [_plain(TRAINED), SEEDS, EPISODES, EPISODE_SEED, defaults]
        else:
            small = GALLERY.get(self.environment)
            env = fairgym.make(self.environment, **(small.args if small else {}))
            how = code_of(self.page) if self.page else _plain(small)
        arguments = inspect.signature(environments.get(self.environment)).parameters
        return [
            how,
            env.spec.version,
            {name: str(one.default) for name, one in arguments.items()},
            [f"{label.title} ({label.unit})" for label in metric_labels(env)],
        ]


@dataclasses.dataclass(frozen=True)
class Audited:
    """A figure of the page of an audit of a built-in table.

    Attributes:
        example: Name of the table.
        part: Table of results that it is drawn from.
        where: Cells of the rows that are drawn; {} for all rows.
        name: Name of the figure, if the table has several.
    """

    example: str
    part: str
    where: Mapping[str, str] = dataclasses.field(default_factory=dict)
    name: str = ""

    def figure(self) -> Figure:
        """Make the figure; nothing is trained."""
        found = audited(self.example)
        part = found.part(self.part)
        rows = [row for row in part.rows if self.where.items() <= row.items()]
        drawn = figures_of(dataclasses.replace(part, rows=rows), found.roles)
        return drawn[self.name or self.part].figure

    def fingerprint(self) -> str:
        """Hash of what the picture is made from."""
        table = hashlib.sha256(example_table(self.example).read_bytes()).hexdigest()
        roles = dataclasses.asdict(roles_of(self.example))
        return _hash([DRAWING, _looks(), dataclasses.asdict(self), roles, table])


@dataclasses.dataclass(frozen=True)
class Asked:
    """Differences in rival worlds, from the page of a what-if in the gallery.

    Attributes:
        page: Name of the page, whose command is run (`example_pages.PAGES`).
        measures: Names of the measures that are drawn, a panel each.
    """

    page: str
    measures: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """What the command says after `fairgym simulate`."""
        return shlex.split(example_pages.PAGES[self.page])[1:]

    def figure(self) -> Figure:
        """Make the figure; nothing is trained."""
        plan, _ = plan_of(self.words)
        size = plan.scenarios[0].environment_args
        env = fairgym.make(self.words[0], **size)
        found = simulate(
            plan.environment,
            plan.scenarios,
            episodes=plan.episodes,
            seed=plan.seed,
            reference=plan.reference,
            worlds=list(declared_by(env).worlds.values()),
        )
        every = [one for one in rivals(found, effects(found)) if not one.quantity.group]
        return worlds_figure(
            [one for name in self.measures for one in every if one.quantity.name == name]
        )

    def fingerprint(self) -> str:
        """Hash of what the picture is made from."""
        env = fairgym.make(self.words[0])
        declared = _plain(declared_by(env))
        titles = [f"{one.title} ({one.unit})" for one in metric_labels(env)]
        made_from = [_plain(self), self.words, env.spec.version, declared, titles]
        return _hash([DRAWING, _looks(), *made_from])


def roles_of(example: str) -> Roles:
    """The roles of the columns of a built-in table."""
    return Roles(**read_config(example_config(example))[0])


@functools.cache
def audited(example: str) -> Audit:
    """The audit of a built-in table."""
    return audit(f"{PREFIX}{example}", roles_of(example))


PICTURES: dict[str, Picture | Audited | Asked] = {
    "readme": Picture("loan", learned_lending, trained=True),
    "watch": Picture("loan", lambda: figure_of("watch.md"), page="watch.md"),
    "audit-arrests": Audited("arrests", "gaps_over_time", {"grouping": "colour"}),
    "audit-arrests-rates": Audited("arrests", "rates"),
    "audit-hmda": Audited("hmda", "accounted", {"method": "regression"}),
    "audit-resume-names": Audited("resume-names", "gaps"),
    "what-if-relief": Asked("what-if-relief", ("profit", "default_rate")),
}
PICTURES |= {
    f"gallery-{name}": Picture(name, functools.partial(small_episode, name)) for name in GALLERY
}


def _defaults(algorithm: str) -> dict[str, str]:
    return {f.name: str(f.default) for f in dataclasses.fields(algorithms.get(algorithm))}


def _looks() -> list[Any]:
    return [
        looks.GROUP_COLOURS,
        looks.POLICY_COLOURS,
        looks.BASELINE_COLOUR,
        looks.DASHES,
        looks.BASELINE_DASHES,
    ]


def _plain(value: Any) -> Any:
    return dataclasses.asdict(value)


def _hash(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def stamps() -> dict[str, dict[str, str]]:
    """Picture -> its fingerprint, and the hash of its numbers, when it was made."""
    return json.loads(STAMPS.read_text(encoding="utf-8")) if STAMPS.is_file() else {}


def stale() -> list[str]:
    """Pictures that are missing, or made from something else."""
    made = stamps()
    return [
        name
        for name, picture in PICTURES.items()
        if not (IMAGES / f"{name}.png").is_file()
        or made.get(name, {}).get("made from") != picture.fingerprint()
    ]


def make(name: str) -> None:
    """Draw a picture and stamp it."""
    picture = PICTURES[name]
    figure = picture.figure()
    (IMAGES / f"{name}.png").write_bytes(png(figure, dpi=DPI))
    numbers = [f"{row['value']:.3g}" for row in numbers_of(figure) if row["value"] is not None]
    before = stamps()
    stamp = {"made from": picture.fingerprint(), "numbers": _hash(numbers)}
    same = before.get(name, {}).get("numbers") == stamp["numbers"]
    text = json.dumps({**before, name: stamp}, indent=2, sort_keys=True)
    STAMPS.write_text(f"{text}\n", encoding="utf-8")
    print(f"{name}.png{', with the same numbers as before' if same else ''}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a key of PICTURES")
    parser.add_argument("--list", action="store_true", help="list the stale pictures and stop")
    given = parser.parse_args(arguments)
    if given.list:
        print("\n".join(stale()) or "No picture is stale.")
        return
    fairgym.configure()
    for name in given.names:
        if name not in PICTURES:
            parser.error(f"unknown picture {name!r}; there are {', '.join(PICTURES)}")
    for name in given.names or stale():
        make(name)


if __name__ == "__main__":
    sys.exit(main())
