"""Rates so far as a status: the share of each stakeholder's requests that were granted.

Sums make larger groups look favoured; a share of one's own requests does not.
"""

import dataclasses

import jax.numpy as jnp
from jaxtyping import Array, Float

from fairgym.core import Components, Environment, FairgymError, Feature
from fairgym.core.errors import require_number
from fairgym.core.sums import CompensatedSum
from fairgym.fairness.memories import PERSON, stakeholder_component

BETWEEN = "/"


@dataclasses.dataclass(frozen=True)
class RateSoFar:
    """Status U: sum of a component so far, divided by the sum of another one.

    A component may have further axes after that of the stakeholders; it is summed over them.
    Stakeholders without a request have the mean of the others: nothing is known of unfairness to
    them.

    Attributes:
        numerator: Name of the component of what was granted.
        denominator: Name of the component of what was requested.
        discount: Share gamma_p of the past that is kept after a step.

    Examples:
        >>> from fairgym.fairness import RateSoFar, RelaxedParity, Scheme, component_rows
        >>> log = {"time": [0, 0, 1], "group": ["A", "B", "A"], "granted": [1, 1, 0]}
        >>> rows = component_rows(log | {"asked": [1, 1, 1]}, ["asked", "granted"])
        >>> scheme = Scheme.anytime(RateSoFar("granted", "asked"), RelaxedParity())
        >>> scheme.status_over_time(rows).tolist()
        [[1.0, 1.0], [0.5, 1.0]]
    """

    numerator: str
    denominator: str
    discount: float = 1.0

    def __post_init__(self) -> None:
        """Check the number."""
        require_number("discount", self.discount, 0.0, 1.0)

    @classmethod
    def named(cls, env: Environment, name: str, discount: float = 1.0) -> "RateSoFar":
        """Return the rate NUMERATOR/DENOMINATOR of an environment's components.

        Raises:
            FairgymError: If a component is unknown, has no entry per stakeholder, or the two have
                other stakeholders.
        """
        numerator, _, denominator = name.partition(BETWEEN)
        stakeholder_component(env, numerator)
        info = env.spec.component_info
        if denominator not in info or info[denominator].axes[:1] != info[numerator].axes:
            there = [one for one, its in info.items() if its.axes[:1] == info[numerator].axes]
            raise FairgymError(
                f"the denominator of a rate must be one of {', '.join(there)}, got {denominator!r}"
            )
        return cls(numerator, denominator, discount)

    def title(self, env: Environment) -> str:
        """Return the meaning of the rate in words."""
        info = env.spec.component_info
        return f"{info[self.numerator].description} per {info[self.denominator].description}"

    def initial(self, like: Components) -> CompensatedSum:
        """Return zeros."""
        return CompensatedSum.of(jnp.zeros_like(self._both(like)))

    def _both(self, components: Components) -> Float[Array, "two stakeholders"]:
        rows = []
        for name in (self.numerator, self.denominator):
            there = [field.name for field in dataclasses.fields(components)]
            if name not in there or not jnp.ndim(getattr(components, name)):
                raise FairgymError(
                    f"component must be one with an entry per stakeholder, got {name!r}"
                )
            numbers = getattr(components, name)
            rows.append(jnp.sum(jnp.reshape(numbers, (numbers.shape[0], -1)), axis=1))
        return jnp.stack(rows)

    def update(self, memory: CompensatedSum, components: Components) -> CompensatedSum:
        """Return both sums after a step."""
        past = memory if self.discount == 1.0 else memory.times(self.discount)
        return past.plus(self._both(components))

    def status(self, memory: CompensatedSum) -> Float[Array, " stakeholders"]:
        """Return the rates."""
        granted, asked = memory.value
        known = asked > 0.0
        rate = jnp.where(known, granted / jnp.where(known, asked, 1.0), 0.0)
        mean = jnp.sum(rate) / jnp.maximum(jnp.sum(known), 1)
        return jnp.where(known, rate, mean)

    # ---------------------------------------------------------------- for agents

    def shown(self, memory: CompensatedSum) -> dict[str, Array]:
        """Return the rates and the numbers of requests, by the names of their features.

        Both together determine the next rates.
        """
        one, other = self._names
        asked = memory.value[1]
        return {one: self.status(memory), other: asked}

    @property
    def _names(self) -> tuple[str, str]:
        return f"rate_{self.numerator}", f"remembered_{self.denominator}"

    def features(self, env: Environment) -> tuple[str, tuple[Feature, ...]]:
        """Return the axis along which `shown` is observed, and the features that declare it.

        Args:
            env: Environment that emits the components.
        """
        info = stakeholder_component(env, self.numerator)
        most = float(env.horizon if self.discount == 1.0 else 1.0 / (1.0 - self.discount))
        most = min(most, float(env.horizon))
        meanings = (self.title(env), env.spec.component_info[self.denominator].description)
        names = tuple(zip(self._names, (1.0, most), meanings, strict=True))
        if info.per == PERSON:
            return PERSON, tuple(Feature(n, 0.0, high, "", about) for n, high, about in names)
        return "", tuple(
            Feature(f"{n}_{place}", 0.0, high, "", f"{about}: {part}")
            for n, high, about in names
            for place, part in enumerate(env.spec.parts_of(info.axes[0]))
        )

    def neighbours(
        self, memory: CompensatedSum, offsets: tuple[int, ...]
    ) -> tuple[CompensatedSum, Array]:
        """Return counterfactual memories in which one stakeholder was granted more or less.

        Args:
            memory: Memory m.
            offsets: Numbers of granted requests to add for one stakeholder at a time.

        Returns:
            `(memories, legal)`, with a first axis over memories. `legal` is False for m itself and
            where less than nothing, or more than was requested, would be granted.
        """
        size = memory.total.shape[1]
        one = jnp.eye(size)[:, None, :] * jnp.asarray(offsets, jnp.float32)[None, :, None]
        more = jnp.reshape(one, (-1, size))
        others = memory.plus(jnp.stack([more, jnp.zeros_like(more)], axis=1))
        granted, asked = others.value[:, 0], others.value[:, 1]
        there = jnp.all((granted >= 0.0) & (granted <= asked), axis=1)
        return others, there & jnp.any(more != 0.0, axis=1)


def is_rate(name: str) -> bool:
    """Return whether a name is that of a rate, NUMERATOR/DENOMINATOR."""
    return BETWEEN in name
