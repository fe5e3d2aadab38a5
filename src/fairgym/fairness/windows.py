"""Measures of the last steps: metrics of a window, in addition to those of whole episodes."""

import dataclasses
import itertools
from collections.abc import Iterable
from types import SimpleNamespace

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PyTree

from fairgym.core import Counts, Environment, FairgymError, Feature, check_shape
from fairgym.core.errors import require_number
from fairgym.fairness.memories import LARGEST_PERIOD
from fairgym.fairness.metrics import Metric, Rate, components_of


@dataclasses.dataclass(frozen=True)
class Windowed:
    """Metric of the last steps, or of the steps so far if fewer (Hu et al. 2023, section 5).

    It is a memory (`fairgym.core.Memory`) that keeps the components which the metric uses. Agents
    can observe it (`fairgym.wrappers.augmented`): they see the sums of these components over it.

    Attributes:
        metric: Metric of the window.
        steps: Number of steps w; 1 for the step itself, 0 for the episode so far.
        most: Largest entry that these components normally have in a step, for the declared range
            of the features.

    Raises:
        FairgymError: If the number of steps or `most` is out of range.

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
    most: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_shape("steps", self.steps, 0, LARGEST_PERIOD)
        require_number("most", self.most, 0.0)

    def initial(self, like: Counts) -> PyTree:
        """Return rows of zeros, and the index of the next row."""
        names = self._components(vars(like))
        shapes = {name: jnp.shape(getattr(like, name)) for name in names}
        rows = {name: jnp.zeros((max(self.steps, 1), *shape)) for name, shape in shapes.items()}
        return rows, jnp.int32(0)

    def update(self, memory: PyTree, components: Counts) -> PyTree:
        """Replace the oldest row by this step's; for the episode so far, add the step."""
        rows, place = memory
        if self.steps == 0:
            return {name: row + getattr(components, name) for name, row in rows.items()}, place
        new = {name: row.at[place].set(getattr(components, name)) for name, row in rows.items()}
        return new, (place + 1) % self.steps

    def totals(self, memory: PyTree) -> PyTree:
        """Return the sums of the components over the window."""
        return SimpleNamespace(**{name: jnp.sum(row, axis=0) for name, row in memory[0].items()})

    def value(self, memory: PyTree) -> Float[Array, ""]:
        """Return the metric of the window."""
        return self.metric.value(self.totals(memory))

    def remaining(self, memory: PyTree) -> PyTree:
        """Return the sums over the steps that stay in the window after another step."""
        rows, place = memory
        if self.steps:
            rows = {name: row.at[place].set(0.0) for name, row in rows.items()}
        return self.totals((rows, place))

    def value_after(self, remaining: PyTree, components: Counts) -> Float[Array, ""]:
        """Return the metric of the window after another step.

        Args:
            remaining: Sums over the other steps of that window, as returned by `remaining`.
            components: Components of the step.
        """
        sums = {name: x + getattr(components, name) for name, x in vars(remaining).items()}
        return self.metric.value(SimpleNamespace(**sums))

    def of_trace(self, trace: PyTree) -> Float[Array, " steps"]:
        """Return the metric of the window after each step of an episode.

        Args:
            trace: Components with a first axis of steps, as in `Episode.trace`.
        """

        def step(memory: PyTree, components: Counts) -> tuple[PyTree, Array]:
            memory = self.update(memory, components)
            return memory, self.value(memory)

        first = self.initial(jax.tree.map(lambda x: x[0], trace))
        return lax.scan(step, first, trace)[1]

    # ------------------------------------------------------------------ observations

    def shown(self, memory: PyTree) -> dict[str, Array]:
        """Return the sums of the components over the window, in alphabetical order of names."""
        return dict(sorted(vars(self.totals(memory)).items()))

    def features(self, env: Environment) -> tuple[str, tuple[Feature, ...]]:
        """Return the declarations of the context, one per entry of each component in `shown`.

        Args:
            env: Environment that emits the components.
        """
        info = env.spec.component_info
        high = float(self.most * (self.steps or env.horizon))
        span = f"in the last {self.steps} {env.spec.time_unit}" if self.steps else "so far"
        features = []
        for name in sorted(self._components(info)):
            about = info[name]
            entries = itertools.product(*(env.spec.parts_of(axis) for axis in about.axes))
            for place, parts in enumerate(entries):
                feature = Feature(
                    f"window_{name}_{place}" if parts else f"window_{name}",
                    0.0 if about.nonnegative else -high,
                    high,
                    about.unit,
                    ", ".join((about.description, *parts, span)),
                )
                features.append(feature)
        return "", tuple(features)

    def _components(self, there: Iterable[str]) -> list[str]:
        """Return the names of the components that the metric uses; all for an unknown metric."""
        return list(components_of(self.metric) or there)


@dataclasses.dataclass(frozen=True)
class WindowedRates(Windowed):
    """Window of the last steps of which agents observe rates, as in the code of Yu et al. (2022).

    `Windowed` shows sums; this shows each group's rate, and the composition of a count.

    Attributes:
        metric: Metric of the window, which compares groups by a `rate`.
        steps: Number of steps w; 0 for the episode so far.
        shares_of: Name of a component of which agents observe every entry, divided by the sum of
            all entries and one; "" for none.

    Raises:
        FairgymError: If the metric compares no rate.

    Examples:
        >>> import fairgym
        >>> from fairgym.fairness import Disparity, Rate, WindowedRates
        >>> bank = fairgym.make("bank_loans")
        >>> lately = WindowedRates(Disparity(Rate("successful", "would_repay")), steps=300)
        >>> seen = fairgym.wrappers.augmented(bank, lately).observation_space("bank")
        >>> [feature.name for feature in seen.context]
        ['cash', 'rate_advantaged', 'rate_disadvantaged']
    """

    shares_of: str = ""

    def __post_init__(self) -> None:
        """Check the numbers and the metric."""
        super().__post_init__()
        if not isinstance(getattr(self.metric, "rate", None), Rate):
            raise FairgymError(f"metric must compare the groups' rates, got {self.metric!r}")

    @property
    def rate(self) -> Rate:
        """Rate of each group."""
        return self.metric.rate  # type: ignore[attr-defined] # checked

    def shown(self, memory: PyTree) -> dict[str, Array]:
        """Return each group's rate, and the entries of the count as shares."""
        totals = self.totals(memory)
        found = {"rate": self.rate.per_group(totals)}
        if self.shares_of:
            counts = getattr(totals, self.shares_of)
            found["shares"] = counts / (jnp.sum(counts) + 1.0)
        return found

    def features(self, env: Environment) -> tuple[str, tuple[Feature, ...]]:
        """Return the declarations of the context, one per entry of `shown`."""
        info, spec = env.spec.component_info, env.spec
        span = f"in the last {self.steps} {spec.time_unit}" if self.steps else "so far"
        title = self.rate.title or "rate"
        features = [
            Feature(f"rate_{part}", 0.0, 1.0, source=f"{title}, {part}, {span}")
            for part in self.rate.parts_in(spec)
        ]
        if self.shares_of:
            about = info[self.shares_of]
            entries = itertools.product(*(spec.parts_of(axis) for axis in about.axes))
            features += [
                Feature(
                    "_".join(("share", *parts)),
                    0.0,
                    1.0,
                    source=", ".join((f"share of {about.description}", *parts, span)),
                )
                for parts in entries
            ]
        return "", tuple(features)

    def _components(self, there: Iterable[str]) -> list[str]:
        """Return the names of the components of the rate and of the count."""
        return [*super()._components(there), *([self.shares_of] if self.shares_of else [])]
