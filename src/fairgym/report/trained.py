"""Tables of what was trained: a summary, and every setting."""

import sys
from collections.abc import Mapping, Sequence

from fairgym.config.differences import essence, flatten, plain
from fairgym.config.plain import objective_text
from fairgym.config.settings import summary_line
from fairgym.fairness import Objective
from fairgym.report.grouping import RunGroup
from fairgym.report.template import escaped, table
from fairgym.results.labels import has_people, words


def config_tables(groups: Sequence[RunGroup]) -> str:
    """Return tables of what was trained: a short one, and every setting behind a fold."""
    short = [_in_short(group) for group in groups]
    long = []
    for group in groups:
        run = group.runs[0]
        settings = {**essence(run), **flatten(run.provenance)}
        long.append({key: escaped(plain(value)) for key, value in settings.items()})
    heads = [escaped(group.name) for group in groups]
    return (
        table(["", *heads], _rows(short))
        + "<details><summary>Every setting</summary>"
        + table(["", *heads], [[escaped(words(r[0])), *r[1:]] for r in _rows(long)])
        + "</details>"
    )


def _rows(columns: Sequence[Mapping[str, str]]) -> list[list[str]]:
    keys = dict.fromkeys(key for column in columns for key in column)
    return [[key, *(column.get(key, "") for column in columns)] for key in keys]


def _in_short(group: RunGroup) -> dict[str, str]:
    run, env = group.runs[0], group.env
    config, provenance = run.config, run.provenance
    algorithm = run.job.algorithm
    fixed = [f"{words(a)} ({plain(v)})" for a, v in config.fixed.items()]
    trained = [words(agent) for agent in env.agents if agent not in config.fixed]
    objective = objective_text(config.objective).replace(",", ", ")
    if config.objectives:
        objective = ", ".join(
            f"{words(a)}: {objective_text(o)}" for a, o in config.objectives.items()
        )
    if config.bounds:
        bounds = (f"{words(m)} below {plain(e)}" for m, e in config.bounds.items())
        objective += f", with {', '.join(bounds)}"
    times = [line["wall_time_s"] for r in group.runs for line in r.metrics[-1:]]
    about = summary_line(type(env.unwrapped)).split(";")[0]
    versions = provenance.get("versions", {})
    device = provenance.get("device", {})
    row = {
        "Environment": f"{env.name}<small>{escaped(about)}</small>",
        "Population" if has_people(env) else "Size": (
            f"{env.spec.size_text}: {', '.join(map(words, env.spec.groups))}"
        ),
        "Episode": f"{plain(env.horizon)} {env.spec.time_unit}",
        "Agents trained": ", ".join(trained),
        "Agents fixed": ", ".join(fixed) or "none",
        "Objective": f"{escaped(objective)}<small>{escaped(_weights(run.objective))}</small>",
        "Algorithm": f"{escaped(config.algorithm)}"
        f"<small>{escaped(summary_line(sys.modules[type(algorithm).__module__]))}</small>",
        "Epochs": ", ".join(
            dict.fromkeys(
                f"{len(r.metrics)}"
                + ("" if r.summary else f" of {algorithm.num_updates}, not finished")
                for r in group.runs
            )
        ),
        "Seeds": ", ".join(str(r.config.seed) for r in group.runs),
        "Training time": f"{sum(times) / max(len(times), 1):,.0f} s a seed",
        "Data": f"{escaped(getattr(env.unwrapped, 'population_source', 'made up'))}"
        f"<small>sha256 {escaped(provenance.get('data_checksum') or 'none')}</small>",
        "Versions": escaped(", ".join(f"{name} {v}" for name, v in versions.items() if v)),
        "Source commit": escaped(provenance.get("git_commit") or "not recorded"),
        "Device": escaped(f"{device.get('count', '')} x {device.get('kind', 'not recorded')}"),
        "Started": escaped(provenance.get("started", "")),
    }
    return row


def _weights(objective: Objective | Mapping[str, Objective]) -> str:
    """Return the weights as text."""
    if isinstance(objective, Mapping):
        return "each agent has its own"
    terms = [f"{words(n)} {w:.3g}" for n, w in objective.weights.items() if w]
    return f"weights: {', '.join(terms)}" if terms else "no weights"
