"""Panels of the figure of actions: which elements are drawn together, as lines or as a map."""

import dataclasses
from typing import Any

from fairgym.core import Element, Shares
from fairgym.report.labels import parts_word, whole
from fairgym.report.words import title, words

MOST_LINES = 12  # options that have a line each; of more, each is a row of a heat map


@dataclasses.dataclass(frozen=True)
class Panel:
    """One panel: the elements of an agent's action that are drawn together.

    Attributes:
        agent: the agent whose action it is.
        title: in words.
        elements: elements drawn as lines; empty for a heat map.
        blocks: blocks of shares drawn as rows of a heat map; empty for lines.
    """

    agent: str
    title: str
    elements: tuple[Element, ...] = ()
    blocks: tuple[tuple[Element, ...], ...] = ()

    @property
    def rows(self) -> int:
        """Rows of a heat map, headings included."""
        return sum(len(block) + bool(block[0].of) for block in self.blocks)


def line_panels(env: Any) -> list[Panel]:
    """The panels of the agents that set numbers or units, or choose one of a few options."""
    found = []
    for agent in env.agents:
        space, who = env.action_space(agent), title(agent)
        if space.discrete and space.size <= MOST_LINES:
            found.append(Panel(agent, f"{who}: choices", space.elements))
        if space.discrete or isinstance(space, Shares):
            continue
        elements = space.elements
        if space.per_entity:
            found.append(Panel(agent, f"{who}: mean {words(elements[0].label)}", elements))
            continue
        labels = list(dict.fromkeys(element.label for element in elements))
        if len(labels) > 1 and not any(element.group for element in elements):
            found.append(Panel(agent, who, elements))
            continue
        for label in labels:
            own = tuple(element for element in elements if element.label == label)
            found.append(Panel(agent, f"{who}: {words(label)}", own))
    return found


def map_panels(env: Any) -> list[Panel]:
    """The panels of the agents that divide budgets or choose among many, in their order.

    A budget has a panel; blocks that split one share each share one.
    """
    found = []
    for agent in env.agents:
        space, who = env.action_space(agent), title(agent)
        if space.discrete and space.size > MOST_LINES:
            found.append(Panel(agent, f"{who}: choices", blocks=(space.elements,)))
        if not isinstance(space, Shares):
            continue
        budgets = [block for block in space.blocks if not block[0].of]
        splits = tuple(block for block in space.blocks if block[0].of)
        for i, budget in enumerate(budgets):
            which = "shares of the budget" if len(budgets) == 1 else f"budget {i + 1}"
            found.append(Panel(agent, f"{who}: {which}", blocks=(budget,)))
        if splits:
            what = whole(space, splits[0]) if len(splits) == 1 else "each kind"
            parts = {parts_word(env, [element.group for element in block]) for block in splits}
            word = parts.pop() if len(parts) == 1 else ""
            how = f"split by {word}" if word else "how it is split"
            found.append(Panel(agent, f"{who}: {what}, {how}", blocks=splits))
    return found
