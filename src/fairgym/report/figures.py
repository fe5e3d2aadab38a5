"""All figures of a report, in order, with their headings and captions."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from fairgym.core import Environment
from fairgym.report.actions import map_panels, mean_actions
from fairgym.report.distributions import core_attribute_distribution
from fairgym.report.episodes import group_rates, metric_comparison, part_curves
from fairgym.report.grouping import RunGroup
from fairgym.report.learning import learning_curves
from fairgym.report.over_time import scheme_curves, status_curves, wait_curves
from fairgym.report.svg import Captioned
from fairgym.results.estimates import Result
from fairgym.results.labels import (
    disparities,
    has_people,
    has_population,
    metric_labels,
    rate_parts,
    words,
)

_COMPARISON = (
    "A point is a mean over episodes, the bar through it its 95% interval. Circles are learned"
    " policies, squares fixed ones that need no training. The arrow below a panel points to the"
    " better side. All policies meet the same episodes, so that they can differ clearly although"
    " their bars overlap: the table above marks those that are not clearly apart from the best."
)
_LEARNING = (
    "How the learned policy did after each epoch of training, on the objective it was trained for"
    " and on every measure; the arrow in a title says which way is better. {band} A measure that is"
    " undefined in an epoch is drawn as 0.{references}"
)
_ACTIONS = (
    "Each agent's average decision over an episode, after each epoch of training, for each group"
    " where the agent decides by group.{per_person}{choices} {band}{budgets}{each}"
)
_CHOICES = (
    " Of an agent that chooses among options it is the share of the steps in which it chose each."
)
_PER_PERSON = " A number that is set for every person is the mean over the people the agent sees."
_CORE_ATTRIBUTE = (
    "How the {attribute} is spread within each group when an episode begins and when it ends. Each"
    " group's bars add up to 100%, so that a small group looks as large as a large one; dashed"
    " lines are the groups' means. The standardised mean difference is the distance between {two}"
    " in standard deviations: 0 is no gap, 0.2 a small one, 0.8 a large one.{each}"
)
_GROUP_RATES = (
    "Every rate that a disparity compares, counted from the start of the episode up to each step:"
    " {apart} at the right end is the disparity of an episode. Lines are means over episodes, the"
    " shade holds nine of ten of them; a line begins where its rate is first defined. Scales need"
    " not begin at 0.{each}"
)
_SCHEMES = (
    "Score of each fairness scheme, counted from the start of the episode up to each step; at the"
    " right end it is the score of the episode. Lines are means over episodes, in grey those of the"
    " fixed policies; a shade holds nine of ten episodes of a learned one."
)
_STATUS = (
    "What each of those concerned has got, which is what the schemes judge: means over episodes"
    " after each step.{each}"
)
_WAITS = (
    "The share of the people who wait at each step, and the median of the times that they have"
    " waited so far. Lines are means over episodes, of medians over those in which somebody waits,"
    " in grey those of the fixed policies; a shade holds nine of ten episodes of a learned one."
)
_PARTS = (
    "How the people of each {partition} stand at each step: their mean {attribute} and the share of"
    " them in each stage, means over the people of all episodes that are still running. Scales need"
    " not begin at 0.{each}"
)


def plot_all(
    groups: Sequence[RunGroup], results: Sequence[Result], env: Environment
) -> dict[str, Captioned]:
    """Draw every figure of a report, in the order of the page.

    Args:
        groups: the configurations.
        results: the learned policies, one for each configuration in the same order, and the
            baselines.
        env: the environment, for names and units.

    Returns:
        Name -> figure with its heading and caption.
    """
    learned = {r.name: list(r.evaluations) for r in results if r.learned}
    references = _references(groups, results, env)
    texts = _texts(groups, env, bool(references))

    def captioned(figure: Figure, heading: str, caption: str, **more: str) -> Captioned:
        return Captioned(figure, heading, caption.format(**texts, **more))

    found = {
        "comparison": captioned(
            metric_comparison(results, env), "What the policies achieve", _COMPARISON
        ),
        "learning": captioned(
            learning_curves(groups, references=references), "Learning curves", _LEARNING
        ),
        "actions": captioned(mean_actions(groups), "What the agents decide", _ACTIONS),
    }
    if has_population(env):
        attribute = words(env.spec.core_attribute)
        found["core-attribute"] = captioned(
            core_attribute_distribution(learned, env),
            f"Where the groups stand: {attribute}",
            _CORE_ATTRIBUTE,
            attribute=attribute,
        )
    if disparities(env):
        found["group-rates"] = captioned(
            group_rates(learned, env), f"The {texts['parts']} over an episode", _GROUP_RATES
        )
    if env.spec.schemes:
        found["schemes"] = captioned(
            scheme_curves(results, env), "Fairness over an episode", _SCHEMES
        )
        found["status"] = captioned(
            status_curves([result for result in results if result.learned], env),
            "Who has got what over an episode",
            _STATUS,
        )
    for stage in env.spec.waits if has_population(env) else ():
        found[f"{stage.replace(' ', '-')}-over-time"] = captioned(
            wait_curves(results, env, stage), f"Who is {words(stage)} over an episode", _WAITS
        )
    for partition in env.spec.partitions if has_population(env) else ():
        name = words(partition)
        found[f"by-{partition}-over-time"] = captioned(
            part_curves(learned, env, partition),
            f"By {name} over an episode",
            _PARTS,
            partition=name,
            attribute=words(env.spec.core_attribute),
        )
    return found


def _texts(groups: Sequence[RunGroup], env: Environment, references: bool) -> dict[str, str]:
    """Parts of captions that depend on what is shown."""
    seeds = max(len(group.runs) for group in groups)
    spaces = [env.action_space(agent) for agent in env.agents]
    per_person = any(space.per_entity for space in spaces)
    two = "those means"
    if len(env.spec.groups) > 2:
        two = "the two of those means that are furthest apart,"
    compared = {rate_parts(env, metric.rate) for metric in disparities(env).values()}
    parts = "groups" if compared <= {env.spec.groups} else "people"
    apart = f"how far the {parts} are apart"
    if any(len(several) > 2 for several in compared):
        whose = "the groups'" if parts == "groups" else "people's"
        apart = f"the standard deviation of {whose} rates"
    return {
        "band": _band(seeds),
        "budgets": _about_budgets(env, seeds),
        "each": " Each configuration has its own panels." if len(groups) > 1 else "",
        "per_person": _PER_PERSON if per_person and has_people(env) else "",
        "references": " Grey level lines are the fixed policies." if references else "",
        "two": two,
        "apart": apart,
        "parts": parts,
        "choices": _CHOICES if any(space.discrete for space in spaces) else "",
    }


def _band(seeds: int) -> str:
    """Meaning of the shades of lines over training."""
    if seeds == 1:
        return "One seed was trained, so there is no band."
    return (
        f"Lines are means over {seeds} seeds; the shade runs from the lowest seed to the highest."
    )


def _references(
    groups: Sequence[RunGroup], results: Sequence[Result], env: Environment
) -> Mapping[str, Mapping[str, float]]:
    """The baselines' metrics as the program counts them, if all configurations share a world."""
    if len({group.world for group in groups}) > 1:
        return {}
    return {
        # `shown` turns a value round and back
        result.name: {m.name: float(m.shown(result.estimate(m).mean)) for m in metric_labels(env)}
        for result in results
        if not result.learned
    }


def _about_budgets(env: Environment, seeds: int) -> str:
    """Meaning of the heat maps, if there are any."""
    panels = [panel for panel in map_panels(env) if not env.action_space(panel.agent).discrete]
    if not panels:
        return ""
    text = " Budgets are heat maps: the shares of a column add up to 1, and the last epoch's stand"
    text += " at the right"
    if any(block[0].of for panel in panels for block in panel.blocks):
        text += (
            ". What is split further has a block of its own, whose shares are of that part alone;"
            " its heading says how much of the budget that part gets, which is how much the split"
            " matters"
        )
    return f"{text}. {'Colours are means over the seeds.' if seeds > 1 else ''}".rstrip()
