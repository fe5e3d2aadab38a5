"""Measures of the last steps: metrics of what happened lately, beside those of whole episodes."""

import dataclasses
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from fairgym.core import check_shape
from fairgym.fairness.memories import LARGEST_PERIOD
from fairgym.fairness.metrics import Metric


@dataclasses.dataclass(frozen=True)
class Windowed:
    """A metric of the last steps, or of so many as there were (Hu, Lear and Zhang 2023, section 5).

    A memory (`fairgym.core.Memory`): it keeps the components that the metric is made of.

    Attributes:
        metric: the metric.
        steps: w, the number of steps; 1 is the step itself, 0 the episode so far.

    Raises:
        FairgymError: a number of steps out of range.

    Examples:
        >>> from types import SimpleNamespace
        >>> import jax.numpy as jnp
        >>> from fairgym.fairness import Direct, Windowed
        >>> lately = Windowed(Direct("profit"), steps=2)
        >>> memory = lately.initial(SimpleNamespace(profit=jnp.array(0.0)))
        >>> for profit in (5.0, 1.0, 2.0):
        ...     memory = lately.update(memory, SimpleNamespace(profit=jnp.array(profit)))
        >>> float(lately.value(memory))
        3.0
    """

    metric: Metric
    steps: int

    def __post_init__(self) -> None:
        """Check the number of steps."""
        check_shape("steps", self.steps, 0, LARGEST_PERIOD)

    def initial(self, like: Any) -> Any:
        """Zeros, and the place of the next row: nothing has happened."""
        rows = {
            name: jnp.zeros((max(self.steps, 1), *jnp.shape(getattr(like, name))))
            for name in self._components(like)
        }
        return rows, jnp.int32(0)

    def update(self, memory: Any, components: Any) -> Any:
        """The step takes the place of the oldest; of the episode so far it is added."""
        rows, place = memory
        if self.steps == 0:
            return {name: row + getattr(components, name) for name, row in rows.items()}, place
        new = {name: row.at[place].set(getattr(components, name)) for name, row in rows.items()}
        return new, (place + 1) % self.steps

    def totals(self, memory: Any, components: Any = None) -> Any:
        """Sums of the components over the window.

        Args:
            memory: the memory.
            components: a further step, of which the sums would be with it and without the oldest.
        """
        if components is not None:
            memory = self.update(memory, components)
        return SimpleNamespace(**{name: jnp.sum(row, axis=0) for name, row in memory[0].items()})

    def value(self, memory: Any, components: Any = None) -> Float[Array, ""]:
        """The metric of the window; arguments as in `totals`."""
        return self.metric.value(self.totals(memory, components))

    def of_trace(self, trace: Any) -> Float[Array, " steps"]:
        """The metric of the window after each step of an episode.

        Args:
            trace: components with a first axis of steps, as in `Episode.trace`.
        """

        def step(memory: Any, components: Any) -> tuple[Any, Array]:
            memory = self.update(memory, components)
            return memory, self.value(memory)

        first = self.initial(jax.tree.map(lambda x: x[0], trace))
        return lax.scan(step, first, trace)[1]

    def _components(self, like: Any) -> list[str]:
        """Names of the components that the metric is made of; of an unknown kind, all."""
        source = getattr(self.metric, "rate", self.metric)
        named = [getattr(source, word, "") for word in ("component", "numerator", "denominator")]
        known = [name for name in named if name]
        return known or [field.name for field in dataclasses.fields(like)]
