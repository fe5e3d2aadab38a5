"""`fairgym evaluate`: learned policies beside fixed ones."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from fairgym.cli.common import plain
from fairgym.cli.effects import MORE, show_gaps, show_nulls, show_undefined
from fairgym.cli.logs import log_flag, log_policy_flag, logging
from fairgym.cli.output import (
    ALL_HELP,
    LINES,
    WIDTH,
    Output,
    fits,
    fitting,
    folded,
    line,
    say,
    show,
    width,
)
from fairgym.cli.parsing import flag, names, parse, scheme_flag
from fairgym.cli.schemes import scheme_table
from fairgym.cli.verdicts import verdicts_of
from fairgym.config.differences import AIM, LONGEST, essence, labels_of, part_of, small
from fairgym.core import Environment, check_shape
from fairgym.results.conclusions import same_episodes
from fairgym.results.effect_tables import ARROWS
from fairgym.results.gap_tables import Columns, worse_off
from fairgym.results.gaps import gaps_of
from fairgym.results.numbers import Estimate, difference_text, interval
from fairgym.results.quantities import measures
from fairgym.results.records import comparison_results
from fairgym.results.rows import Row, rows_of
from fairgym.results.table import Table
from fairgym.training.comparison import Comparison, compare
from fairgym.training.evaluation import ENOUGH
from fairgym.training.run import Run, load_runs

MOST_POLICIES = 8  # without --all
VERDICTS = {  # -> how a sentence begins
    "worse": "worse in",
    "better": "better in",
    "by failing": "better only by failing in",
    "not comparable": "not comparable in",
}


@dataclasses.dataclass(frozen=True)
class Flags(Output):
    """Measure runs and the environment's fixed policies in the same episodes.

    Prints the objective, failures, who is worse off, and what clearly differs from the first run.
    With --all: tables of every mean, of the paired differences from the first run, of the gaps
    between groups, and of fairness schemes during the episode.
    """

    folders: tuple[str, ...] = names("Run folders, or folders that hold seed-N folders.", "RUN")
    episodes: int = flag(32, "Number of episodes per policy.")
    seed: int = flag(0, "Seed of the episodes.")
    sample: bool = flag(
        False,
        "Sample options and allocations from the learned policy instead of taking its mode.",
    )
    massage: bool = flag(
        False,
        "Massage the actions of the runs' policies, with the tau of the last round of training."
        " Only for runs of f-ppo that were trained with it.",
    )
    scheme: tuple[str, ...] = scheme_flag()
    null: bool = flag(
        False,
        "Add a permutation test: the probability of such gaps if the group made no difference, and"
        " each disparity beside its null distribution (group labels shuffled within the same"
        " episodes).",
    )
    log: str | None = log_flag()
    log_policy: str = log_policy_flag()
    all: bool = flag(False, ALL_HELP)


def evaluate(arguments: Sequence[str]) -> None:
    """Measure runs, and print the results for each setting that they were trained in."""
    from fairgym.training import devices

    devices.configure()
    flags = parse(Flags, arguments, "fairgym evaluate")
    check_shape("episodes", flags.episodes, 1, 1_000_000)
    check_shape("seed", flags.seed, 0, 2**32 - 1)
    runs = load_runs(*flags.folders, schemes=flags.scheme)
    log = logging(flags.log, flags.log_policy, runs, flags.sample, flags.massage)
    if log is not None:
        log(flags.episodes, flags.seed)
    named = [(name, [run]) for name, run in zip(_names(runs), runs, strict=True)]
    schemes = any(run.env.spec.schemes for run in runs)
    comparisons = compare(
        named,
        flags.episodes,
        flags.seed,
        random=True,
        sample=flags.sample,
        massage=flags.massage,
        trace=schemes,
        permutations=ENOUGH if flags.null else 0,
        progress=lambda policy: say(f"measuring: {policy}"),
    )
    settings = labels_of([part_of(essence(comparison.run), AIM) for comparison in comparisons])
    own = ("all", "log", "log_policy")  # which change no result
    told = {name: value for name, value in vars(flags).items() if name not in own}
    if flags.give("evaluate", lambda: comparison_results(comparisons, settings), told):
        for comparison, setting in zip(comparisons, settings, strict=True):
            if flags.all:
                print_tables(comparison, setting)
                continue
            print_summary(comparison, setting)
            if flags.null:
                show_nulls(comparison.run.env, _columns(comparison))
        if not flags.all:
            line(MORE)


def _names(runs: Sequence[Run]) -> list[str]:
    """Names of runs: what differs between them, or the last two parts of their paths."""
    if len(runs) == 1:
        return ["learned"]
    names = labels_of([essence(run) for run in runs])
    if len(set(names)) < len(names) or max(map(len, names)) > LONGEST:
        names = ["/".join(run.folder.parts[-2:]) for run in runs]
    return [f"{name} ({i + 1})" if names.count(name) > 1 else name for i, name in enumerate(names)]


def print_summary(
    comparison: Comparison, setting: str = "", lines: int = LINES, notes: Sequence[str] = ()
) -> None:
    """Print the objective, failures, clear differences and clear gaps of one comparison.

    Args:
        comparison: Policies measured in one setting.
        setting: Difference of the setting from those of other comparisons.
        lines: Largest number of lines.
        notes: Sentences between the table and who is worse off.
    """
    env, columns = comparison.run.env, _columns(comparison, MOST_POLICIES)
    rows, reference = _rows(comparison, columns), next(iter(columns))
    heading = _title(comparison, setting)
    left_out = len(comparison.policies) - len(columns)
    caption = (
        f"mean [95% CI], {ARROWS}; difference: paired, from {reference}; failures: episodes in"
        f" which {env.spec.failure}"
        + f"; not shown: {left_out} more learned polic{'y' if left_out == 1 else 'ies'}"
        * bool(left_out)
    )
    table = _policy_table(rows[0], columns, reference)
    line(heading)
    show(table, WIDTH)
    below = (caption, *notes)
    for text in below:
        line(text)
    taken = len(folded(heading)) + len(table.rows) + 4 + sum(len(folded(text)) for text in below)
    better = list(_better_lines(rows[2:], verdicts_of(rows, columns, reference, env)))
    behind = [
        fitting(f"  {name}: ", parts)
        for name, one in columns.items()
        if (parts := worse_off(env, one))
    ]
    room = lines - taken - bool(better) - 2  # the headings, and a last line
    kept = min(len(better), max(room - len(behind), (room + 1) // 2))
    compared = f"Compared with {reference}, where the 95% CI of the difference excludes 0:"
    worse = "Worse off on average, where the 95% CI of the gap excludes 0:"
    if not behind and gaps_of(env, columns[reference]):
        worse = "Worse off: no group clearly."
    blocks = {worse: behind[: room - kept], compared: better[:kept]}
    for name, texts in blocks.items():
        if texts or name.endswith("."):
            line(name)
        for text in texts:
            print(plain(text))


def _policy_table(objective: Row, columns: Columns, reference: str) -> Table:
    """Objective and failures of each policy, and the paired difference if there is room for it."""
    cells = [
        [
            name,
            _mean_cell(objective, name),
            "" if name == reference else difference_text(objective.differences[name], ""),
            f"{sum(int(np.sum(one.terminated)) for one in several)}"
            f" of {sum(one.episodes for one in several)}",
        ]
        for name, several in columns.items()
    ]
    table = Table(["", objective.label, "difference", "failures"], cells)
    if len(columns) > 1 and fits(table):
        return table
    return Table(["", objective.label, "failures"], [[*row[:2], row[3]] for row in cells])


def _better_lines(rows: Sequence[Row], verdicts: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Return a line per policy: what it is clearly worse or better in."""
    for name, found in verdicts.items():
        titles = {
            words: [small(row.quantity.title) for row in rows if found[row.quantity.name] == one]
            for one, words in VERDICTS.items()
        }
        titles = {words: several for words, several in titles.items() if several}
        if not titles:
            yield f"  {name}: no clear difference"
            continue
        longest, count = max(map(len, titles.values())), len(titles)
        shown = [[most] * count for most in range(longest, 0, -1)]
        shown += [[1] * (count - last) + [0] * last for last in range(1, count + 1)]
        text = ""
        for numbers in shown:  # of titles in each part, until the line fits
            parts = (
                f"{words} {_first(several, most)}"
                for (words, several), most in zip(titles.items(), numbers, strict=True)
            )
            text = f"  {name}: {'; '.join(parts)}"
            if len(text) <= width():
                break
        yield fitting(text, [""])


def _first(names: Sequence[str], most: int) -> str:
    """Return the first names, and the number of the others."""
    if not most:
        return f"{len(names)} measure{'s' * (len(names) > 1)}"
    return ", ".join(names[:most]) + f" and {len(names) - most} more" * (len(names) > most)


def print_tables(comparison: Comparison, setting: str = "") -> None:
    """Print all tables of one comparison: means, paired differences, gaps, null distributions.

    Args:
        comparison: Policies measured in one setting.
        setting: Difference of the setting from those of other comparisons.
    """
    env, columns = comparison.run.env, _columns(comparison)
    rows, reference = _rows(comparison, columns), next(iter(columns))
    means = [[row.label, *(_mean_cell(row, name) for name in columns)] for row in rows]
    caption = f"mean [95% CI] over episodes; {ARROWS}"
    show(Table(["", *columns], means, caption, _title(comparison, setting)), WIDTH)
    show_undefined(rows, columns[reference][0].episodes)
    if len(columns) > 1:
        show(_difference_table(rows, columns, reference, env), WIDTH)
    show_gaps(env, columns)
    if env.spec.schemes:
        show(scheme_table(env, columns), WIDTH)


def _columns(comparison: Comparison, most: int | None = None) -> Columns:
    """Return evaluations by name of policy.

    Args:
        comparison: Policies measured in one setting.
        most: Number of policies; runs are left out before baselines, the first run never.
    """
    learned, policies = comparison.learned, comparison.policies
    if most is not None and len(policies) > most:
        kept = learned[: max(1, most - len(comparison.baselines))]
        policies = (*kept, *comparison.baselines)[:most]
    return {one.title: one.evaluations for one in policies}


def _rows(comparison: Comparison, columns: Columns) -> list[Row]:
    """Return the measures of each policy; the objective is the first."""
    objective = comparison.run.config.objective
    aim = objective if isinstance(objective, str) else "weighted"
    return rows_of(measures(comparison.run.env, aim), columns, next(iter(columns)))


def _title(comparison: Comparison, setting: str) -> str:
    env, config = comparison.run.env, comparison.run.config
    episodes = comparison.policies[0].evaluations[0].episodes
    return (
        f"{config.environment}, {env.spec.size_text}, {episodes} episodes of up to {env.horizon}"
        f" {env.spec.time_unit}, {same_episodes(env)} for every policy{setting and f'; {setting}'}"
    )


def _mean_cell(row: Row, name: str) -> str:
    star = "*" if name in row.undefined else ""
    return f"{interval(row.means[name], row.quantity.unit)}{star}"


def _difference_table(
    rows: Sequence[Row], columns: Columns, reference: str, env: Environment
) -> Table:
    """Mean differences from the first policy, and which of the two is better."""
    verdicts = verdicts_of(rows, columns, reference, env)
    cells = [
        [
            row.label,
            *(
                _difference_cell(one, row.quantity.unit, verdicts[name][row.quantity.name])
                for name, one in row.differences.items()
            ),
        ]
        for row in rows
    ]
    caption = (
        "mean paired difference [95% CI]; better, worse: the interval excludes 0, which is"
        " possible even if the intervals above overlap; by failing: better only because it fails"
        " more often; episodes in which either value is undefined are dropped; points are"
        " percentage points"
    )
    if "not comparable" in {word for found in verdicts.values() for word in found.values()}:
        caption += (
            "; not comparable: it counts only people who were served, and another share was served"
        )
    title = f"Differences from {reference}, paired by episode"
    return Table(["", *rows[0].differences], cells, caption, title)


def _difference_cell(difference: Estimate, unit: str, verdict: str) -> str:
    """Return a difference with its verdict: "+1.20 points [+0.40, +2.00] better"."""
    return f"{difference_text(difference, unit)} {verdict}".rstrip()
