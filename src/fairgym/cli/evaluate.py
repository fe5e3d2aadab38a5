"""`fairgym evaluate`: learned policies beside fixed ones."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from fairgym.cli.effects import ARROWS, same_luck, show_gaps, show_undefined
from fairgym.cli.output import Output, say, show
from fairgym.cli.parsing import flag, names, parse, scheme_flag
from fairgym.config.differences import AIM, LONGEST, essence, labels_of, part_of
from fairgym.core import Environment, check_shape
from fairgym.results.gap_tables import Columns
from fairgym.results.numbers import Estimate, difference_text, interval
from fairgym.results.quantities import FAILED, measures
from fairgym.results.records import comparison_results
from fairgym.results.rows import Row, rows_of
from fairgym.results.table import Table
from fairgym.statistics.intervals import mean_interval
from fairgym.training.comparison import Comparison, compare
from fairgym.training.courses import courses, few, status_vectors
from fairgym.training.evaluation import ENOUGH, Evaluation
from fairgym.training.run import Run, load_runs

QUARTERS = 4  # of an episode, after which scores of schemes are told


@dataclasses.dataclass(frozen=True)
class Flags(Output):
    """Measure runs beside fixed policies, in the same episodes.

    A first table holds each policy's means, a second the mean differences of all others from the
    first run in the same episodes, which tell policies apart where the means' intervals overlap, a
    third one which group is worse off in what, and by how much. In a system with fairness schemes
    one more holds their scores on the way, and who has got what.
    """

    folders: tuple[str, ...] = names("Run folders, or folders that hold seed-N folders.", "RUN")
    episodes: int = flag(32, "Number of episodes per policy.")
    seed: int = flag(0, "Seed of the episodes.")
    sample: bool = flag(
        False,
        "Sample discrete actions from the learned policy instead of taking the most likely one.",
    )
    massage: bool = flag(
        False,
        "Massage the actions of the runs' policies, which takes runs of f-ppo that were trained"
        " with it: tau is that of the last round of training.",
    )
    scheme: tuple[str, ...] = scheme_flag()
    null: bool = flag(
        False,
        "Add a permutation test: how probable such gaps were if groups had no bearing, and each"
        " disparity beside its null distribution (group labels shuffled within the same episodes).",
    )


def evaluate(arguments: Sequence[str]) -> None:
    """Measure runs, and print tables for each setting that they were trained in."""
    from fairgym.training import devices

    devices.configure()
    flags = parse(Flags, arguments, "fairgym evaluate")
    check_shape("episodes", flags.episodes, 1, 1_000_000)
    check_shape("seed", flags.seed, 0, 2**32 - 1)
    runs = load_runs(*flags.folders, schemes=flags.scheme)
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
    if flags.give("evaluate", lambda: comparison_results(comparisons, settings)):
        for comparison, setting in zip(comparisons, settings, strict=True):
            print_tables(comparison, setting)


def _names(runs: Sequence[Run]) -> list[str]:
    """Names of runs: what differs between them, or the last two parts of their folders."""
    if len(runs) == 1:
        return ["learned"]
    names = labels_of([essence(run) for run in runs])
    if len(set(names)) < len(names) or max(map(len, names)) > LONGEST:
        names = ["/".join(run.folder.parts[-2:]) for run in runs]
    return [f"{name} ({i + 1})" if names.count(name) > 1 else name for i, name in enumerate(names)]


def print_tables(comparison: Comparison, setting: str = "") -> None:
    """Print the tables of one comparison: means, differences from the first run, gaps of groups.

    Args:
        comparison: policies measured in one setting.
        setting: difference of the setting from those of other tables.
    """
    run, config = comparison.run, comparison.run.config
    columns = {one.title: one.evaluations for one in comparison.policies}
    reference = next(iter(columns))
    episodes = columns[reference][0].episodes
    aim = config.objective if isinstance(config.objective, str) else "weighted"
    rows = rows_of(measures(run.env, aim), columns, reference)
    means = [[row.label, *(_mean_cell(row, name) for name in columns)] for row in rows]
    title = (
        f"{config.environment}, {run.env.spec.size_text}, {episodes} episodes of up to"
        f" {run.env.horizon} {run.env.spec.time_unit}{setting and f'; {setting}'}"
    )
    caption = f"mean [95% interval over episodes]; {same_luck(run.env)} for every policy; {ARROWS}"
    show(Table(["", *columns], means, caption, title))
    show_undefined(rows, episodes)
    if len(columns) > 1:
        show(_difference_table(rows, columns, reference, run.env))
    show_gaps(run.env, columns)
    if run.env.spec.schemes:
        show(_scheme_table(run.env, columns))


def _mean_cell(row: Row, name: str) -> str:
    star = "*" if name in row.undefined else ""
    return f"{interval(row.means[name], row.quantity.unit)}{star}"


def _difference_table(
    rows: Sequence[Row], columns: Columns, reference: str, env: Environment
) -> Table:
    """Mean differences from the first policy, and which of the two is better."""
    fails = {name: np.mean([one.terminated for one in found]) for name, found in columns.items()}
    by_name = {row.quantity.name: row for row in rows}
    served = {}  # measure that only counts those who are served -> the share that is
    for name, other in env.spec.finished_only.items():
        rate = getattr(env.metrics[other], "rate", None)
        share = next((n for n, metric in env.metrics.items() if metric == rate), None)
        if share is not None:
            served[name] = by_name[share]
    more = {name: float(fails[name] - fails[reference]) for name in columns}
    cells = []
    for row in rows:
        share = served.get(row.quantity.name)
        told = (_difference_cell(row, name, more[name], share) for name in row.differences)
        cells.append([row.label, *told])
    caption = (
        "mean difference [95% interval]; better or worse where the interval leaves out 0, which can"
        " be so although the intervals above overlap, and by failing where the better side fails"
        " more often; only episodes count in which both are defined; points are percentage points"
    )
    if served:
        caption += "; not comparable: of the served only, where another share of people is served"
    title = f"Differences from {reference}, episode by episode"
    return Table(["", *rows[0].differences], cells, caption, title)


def _difference_cell(row: Row, name: str, fails: float, served: Row | None) -> str:
    """As in "+1.20 points [+0.40, +2.00] better".

    Neither side is called better than one that fails less often; `fails` is how much more of the
    episodes this one fails in. Nor where the share of those served, who alone count, differs.
    """
    gap = row.differences[name]
    text = difference_text(gap, row.quantity.unit)
    if not gap.clear:
        return text
    better = gap.mean * row.quantity.better > 0.0
    if row.quantity.name != FAILED and fails != 0.0 and (fails > 0.0) == better:
        return f"{text} by failing"
    if served is not None and served.differences[name].clear:
        return f"{text} not comparable"
    return f"{text} {'better' if better else 'worse'}"


def _scheme_table(env: Environment, columns: Columns) -> Table:
    """Scores of the schemes on the way, and the status of those concerned."""
    rows: list[list[str]] = []
    evaluations = [one for (one,) in columns.values()]
    for heading, section in scheme_rows(env, evaluations).items():
        rows.append([heading])
        for label, values in section.items():
            rows.append([label, *(interval(Estimate(*mean_interval(value))) for value in values)])
    caption = (
        "mean [95% interval]; scores of schemes on the way, whose ends are in the first"
        " table; then what each of those concerned has got, which the schemes judge"
    )
    return Table(["", *columns], rows, caption, "Fairness over an episode")


def scheme_rows(
    env: Environment, evaluations: Sequence[Evaluation]
) -> dict[str, dict[str, list[np.ndarray]]]:
    """Rows of a table, in sections: heading -> label -> for each policy one value per episode.

    A section per scheme has its score after each quarter of the episode but the last; one per
    status vector has the status of each stakeholder at the end.

    Args:
        env: the environment whose schemes they are.
        evaluations: one per policy, made with `trace=True`.
    """
    found = [courses(evaluation, env.spec.schemes) for evaluation in evaluations]
    quarters = (env.horizon * quarter // QUARTERS for quarter in range(1, QUARTERS))
    ends = [end for end in dict.fromkeys(quarters) if end]
    sections: dict[str, dict[str, list[np.ndarray]]] = {}
    for name, scheme in env.spec.schemes.items() if ends else ():
        heading = f"{scheme.title or name.replace('_', ' ')}, so far ↑"
        sections[heading] = {
            f"  after {end} of {env.horizon} {env.spec.time_unit}": [
                course[name].scores[:, end - 1] for course in found
            ]
            for end in ends
        }
    for vector in status_vectors(env, found[0]):
        heading = f"{vector.title}{f' ({vector.unit})' if vector.unit else ''}, at the end"
        ends_of = (course[vector.schemes[0]].status[:, -1].astype(np.float64) for course in found)
        several = [few(status, vector.stakeholders) for status in ends_of]
        sections[heading] = {
            f"  {who}": [values[:, place] for values, _ in several]
            for place, who in enumerate(several[0][1])
        }
    return sections
