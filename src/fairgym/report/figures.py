"""All figures of a report, in order, with their headings and captions."""

import operator
from collections.abc import Callable

from matplotlib.figure import Figure

from fairgym.core import Environment
from fairgym.report.actions import map_panels, mean_actions
from fairgym.report.distributions import core_attribute_distribution
from fairgym.report.episodes import group_rates, part_curves
from fairgym.report.learning import learning_curves
from fairgym.report.measured import Measured
from fairgym.report.outcomes import group_outcomes, metric_comparison
from fairgym.report.over_time import scheme_curves, status_curves, wait_curves
from fairgym.report.svg import Captioned
from fairgym.results.labels import disparities, has_people, has_population, rate_parts, words

_GROUPS = (
    "A point is the mean rate of a group, and the bar its 95% interval. The arrow below a panel"
    " points to the better side. Learned policies stand above the best baseline. {size}"
)
_COMPARISON = (
    "A point is a mean over episodes, and the bar its 95% interval. Circles are learned policies;"
    " squares are fixed policies, which need no training. The arrow below a panel points to the"
    " better side. All policies are measured in the same episodes, so two can differ clearly even"
    " where their bars overlap. The table marks those not clearly different from the best.{null}"
    " {size}"
)
_NULL = (
    " Grey bars behind disparities end at the 95% quantile of the null distribution (permuted"
    " groups)."
)
_NULL_BAND = (
    " In grey: disparities up to the 95% quantile of their null distribution under the final policy"
    " (permuted groups)."
)
_LEARNING = (
    "The learned policy after each epoch of training: its objective and every measure. The arrow in"
    " a title shows which way is better. {band} A measure that is undefined in an epoch is drawn as"
    " 0.{references}{null_band}"
)
_ACTIONS = (
    "Each agent's mean action over an episode, after each epoch of training; by group where the"
    " agent decides by group.{per_person}{choices} {band}{budgets}{each}"
)
_CHOICES = " For an agent that chooses among options: the share of steps in which it chose each."
_PER_PERSON = " A number set for every person is averaged over the people the agent sees."
_CORE_ATTRIBUTE = (
    "Distribution of the {attribute} within each group at the start and at the end of an episode."
    " Each group's bars add up to 100%, whatever its size; vertical lines are the groups' means."
    " The standardised mean difference is the distance between {two} in standard deviations: 0 is"
    " no gap, 0.2 a small one, 0.8 a large one.{each}"
)
_GROUP_RATES = (
    "Every rate that a disparity compares, counted from the start of the episode up to each step."
    " At the right end, {apart} is the disparity of an episode. Lines are means over episodes;"
    " bands hold 90% of the episodes. A line begins where its rate is first defined. Some scales do"
    " not begin at 0.{each} {size}"
)
_SCHEMES = (
    "Score of each fairness scheme, counted from the start of the episode up to each step. At the"
    " right end it is the score of the episode. Lines are means over episodes, grey for fixed"
    " policies; bands hold 90% of a learned policy's episodes. {size}"
)
_STATUS = (
    "What each stakeholder has received, which the schemes score: means over episodes after each"
    " step.{each}"
)
_WAITS = (
    "Left: of those who begin to wait, the share that still waits after a given time. People who"
    " wait at an episode's end are included (Kaplan-Meier). Middle: the share of all people who"
    " wait at each step. Right: the median time that they have waited so far, over the episodes in"
    " which somebody waits. Lines are means over episodes, grey for fixed policies; bands hold 90%"
    " of a learned policy's episodes. {size}"
)
_PARTS = (
    "The people of each {partition} at each step: their mean {attribute}, and the share in each"
    " stage. Means are over the people of all episodes still running. Some scales do not begin at"
    " 0.{each}"
)


def plot_all(page: Measured) -> dict[str, Captioned]:
    """Draw every figure of a report, in the order of the page.

    Args:
        page: What was measured.

    Returns:
        Name -> figure with its heading, its caption and the call that draws it.
    """
    env, texts, found = page.env, _texts(page), {}

    def draw(
        name: str, heading: str, caption: str, function: Callable[..., Figure], *given: str
    ) -> None:
        """Draw from attributes of `page`, or from texts in quotation marks."""
        values = [
            text[1:-1] if text.startswith('"') else operator.attrgetter(text)(page)
            for text in given
        ]
        call = ", ".join(text if text.startswith('"') else f"page.{text}" for text in given)
        found[name] = Captioned(
            function(*values),
            heading,
            caption.format(**texts),
            f"{function.__name__}({call})",
        )

    people = has_population(env)
    if disparities(env):
        draw("groups", f"The {texts['parts']}' rates", _GROUPS, group_outcomes, "beside", "env")
    draw("comparison", "Every measure", _COMPARISON, metric_comparison, "shown", "env")
    for stage in env.spec.waits if people else ():
        name, heading = stage.replace(" ", "-"), f"Who is {words(stage)} over an episode"
        draw(f"{name}-over-time", heading, _WAITS, wait_curves, "shown", "env", f'"{stage}"')
    draw("actions", "What the agents decide", _ACTIONS, mean_actions, "groups")
    if env.spec.schemes:
        draw("schemes", "Fairness over an episode", _SCHEMES, scheme_curves, "shown", "env")
        heading = "Who has received what over an episode"
        draw("status", heading, _STATUS, status_curves, "learned", "env")
    curves = ("groups", "references", "nulls")
    draw("learning", "Learning curves", _LEARNING, learning_curves, *curves)
    if people:
        heading = f"Core attribute: {texts['attribute']}"
        draw(
            "core-attribute",
            heading,
            _CORE_ATTRIBUTE,
            core_attribute_distribution,
            "learned",
            "env",
        )
    if disparities(env):
        heading = f"The {texts['parts']} over an episode"
        draw("group-rates", heading, _GROUP_RATES, group_rates, "learned", "env")
    for partition in env.spec.partitions if people else ():
        heading = f"By {words(partition)} over an episode"
        texts["partition"] = words(partition)
        name = f"by-{partition}-over-time"
        draw(name, heading, _PARTS, part_curves, "learned", "env", f'"{partition}"')
    return found


def _texts(page: Measured) -> dict[str, str]:
    """Return the parts of captions that depend on what is shown."""
    env, groups = page.env, page.groups
    seeds = max(len(group.runs) for group in groups)
    spaces = [env.action_space(agent) for agent in env.agents]
    per_person = any(space.per_entity for space in spaces)
    two = "the means"
    if len(env.spec.groups) > 2:
        two = "the two means that are furthest apart,"
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
        "references": " Grey horizontal lines are the fixed policies." if page.references else "",
        "size": _size(page),
        "attribute": words(env.spec.core_attribute) if has_people(env) else "",
        "null": _NULL if any(one.evaluations[0].nulls for one in page.shown) else "",
        "null_band": _NULL_BAND if page.nulls else "",
        "two": two,
        "apart": apart,
        "parts": parts,
        "choices": _CHOICES if any(space.discrete for space in spaces) else "",
    }


def _band(seeds: int) -> str:
    """Say what the shaded bands over training mean."""
    if seeds == 1:
        return "One seed was trained, so there is no band."
    return f"Lines are means over {seeds} seeds; bands run from the lowest to the highest seed."


def _size(page: Measured) -> str:
    """Say how many episodes and seeds there are."""
    episodes = page.learned[0].evaluations[0].episodes
    count = "One episode" if episodes == 1 else f"{episodes:,} episodes"
    seeds = sorted({run.config.seed for group in page.groups for run in group.runs})
    several = f"s {', '.join(map(str, seeds))}" if len(seeds) > 1 else f" {seeds[0]}"
    return f"{count} of each policy; learned policies of seed{several}."


def _about_budgets(env: Environment, seeds: int) -> str:
    """Explain the heat maps, if there are any."""
    panels = [panel for panel in map_panels(env) if not env.action_space(panel.agent).discrete]
    if not panels:
        return ""
    text = " Budgets are heat maps: the shares of a column add up to 1; the last epoch's shares are"
    text += " written at the right"
    if any(block[0].of for panel in panels for block in panel.blocks):
        text += (
            ". A part that is split further has its own block, with shares of that part alone; the"
            " heading says how much of the budget the part gets"
        )
    return f"{text}. {'Colours are means over the seeds.' if seeds > 1 else ''}".rstrip()
