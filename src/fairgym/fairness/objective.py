"""Objectives: weighted sums of metrics and fairness schemes, optionally under constraints."""

import dataclasses
import numbers
import reprlib
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from fairgym.core import Components, Counts, Environment, FairgymError
from fairgym.core.errors import is_number
from fairgym.fairness import weights as _weights
from fairgym.fairness.metrics import Metric
from fairgym.fairness.schemes import Scheme
from fairgym.fairness.welfare import welfare_scheme
from fairgym.fairness.welfare_names import is_welfare
from fairgym.utils.changes import unknown


@dataclasses.dataclass(frozen=True)
class Objective:
    """Objective max sum_k alpha_k R^(k) + sum_m beta_m F^(m) over normalised terms (MAFE, eq. 1).

    A term is a metric or a fairness scheme (Alamdari et al. 2024, definition 4.7). A scheme's score
    depends on the course of the episode, so its state is carried from step to step.

    With `bounds` it is the constrained form: maximise the weighted sum subject to
    |disparity| < epsilon for each bounded metric. The learner keeps one multiplier per bound. It
    subtracts multiplier times excess from the score, and raises the multiplier while the bound is
    violated (`raise_multipliers`).

    Attributes:
        metrics: Metrics by name.
        weights: Weight of each metric or scheme; those without one have weight 0.
        bounds: Epsilon of each bounded metric, on its normalised value: for a disparity of waits
            the share of their sum, for rates the plain difference.
        schemes: Schemes by name.
        terms: Metrics that are bounded if one bound is given for all disparities
            (`EnvironmentSpec.terms`); all metrics if empty.

    Examples:
        >>> import fairgym
        >>> from fairgym.fairness import Objective
        >>> env = fairgym.make("loan_simple", population=100, horizon=10)
        >>> Objective.direct(env).weights
        {'profit': 1.0}
        >>> objective = Objective.direct_fair(env).bounded(0.05)
        >>> objective.bounds
        {'admission_disparity': 0.05, 'wait_disparity': 0.05, 'default_disparity': 0.05}
    """

    metrics: Mapping[str, Metric]
    weights: Mapping[str, float]
    bounds: Mapping[str, float] = dataclasses.field(default_factory=dict)
    schemes: Mapping[str, Scheme] = dataclasses.field(default_factory=dict)
    terms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the names."""
        for name in self.schemes:
            if name in self.metrics:
                raise FairgymError(f"{name!r} must not name both a metric and a scheme")
        for field, known, numbers_given in (
            ("weights", {**self.metrics, **self.schemes}, self.weights),
            ("bounds", self.metrics, self.bounds),
        ):
            for name, number in numbers_given.items():
                if name not in known:
                    raise unknown("metric", name, known)
                if not is_number(number):
                    given = reprlib.repr(number)
                    raise FairgymError(f"{field} of {name!r} must be a number, got {given}")
        for name, epsilon in self.bounds.items():
            if epsilon < 0:
                raise FairgymError(f"the bound of {name!r} must be 0 or more, got {epsilon!r}")
            if self.metrics[name].kind != "fair":
                takes = ", ".join(n for n, m in self.metrics.items() if m.kind == "fair")
                raise FairgymError(
                    f"a bound must be on a disparity, which is 0 at parity, got {name!r};"
                    f" disparities: {takes or 'none here'}"
                )

    def _parts(self) -> tuple[tuple[tuple[str, Any], ...], ...]:
        parts = (self.metrics, self.weights, self.bounds, self.schemes)
        return tuple(tuple(part.items()) for part in parts)

    def __eq__(self, other: object) -> bool:
        """Compare names and numbers in order, since multipliers follow the order of `bounds`."""
        return isinstance(other, Objective) and self._parts() == other._parts()

    def __hash__(self) -> int:
        """Hash all parts, so that equal objectives share compiled programs."""
        return hash(self._parts())

    # ---------------------------------------------------------------- constructors

    @classmethod
    def weighted(cls, env: Environment, weights: Mapping[str, float]) -> "Objective":
        """Make an objective from weights by name of metric, scheme or welfare."""
        known = {**env.metrics, **env.spec.schemes}
        welfare = {n: welfare_scheme(env, n) for n in weights if n not in known and is_welfare(n)}
        schemes = {**env.spec.schemes, **welfare}
        return cls(env.metrics, dict(weights), schemes=schemes, terms=env.spec.terms)

    @classmethod
    def uniform(cls, env: Environment) -> "Objective":
        """Make an objective in which every metric has the same weight, 1 / (K + M)."""
        return cls.named(env, "uniform")

    @classmethod
    def direct(cls, env: Environment) -> "Objective":
        """Make an objective of direct rewards only (MAFE, section 6.2, setting 1)."""
        return cls.named(env, "direct")

    @classmethod
    def direct_fair(cls, env: Environment) -> "Objective":
        """Make an objective of direct rewards and disparities, equally weighted (setting 2)."""
        return cls.named(env, "direct-fair")

    @classmethod
    def direct_fair_rate(cls, env: Environment) -> "Objective":
        """Make an objective of all three kinds, equally weighted (setting 3); same as uniform."""
        return cls.named(env, "direct-fair-rate")

    @classmethod
    def half_direct(cls, env: Environment) -> "Objective":
        """Make an objective with half the weight on direct rewards, half on disparities (D.6)."""
        return cls.weighted(env, _weights.half_direct(env))

    @classmethod
    def frontier(cls, env: Environment, lam: float) -> "Objective":
        """Make an objective with alpha_k = lambda / K and beta_m = (1 - lambda) / M (D.4).

        Raises:
            FairgymError: If lambda is outside [0, 1].
        """
        return cls.weighted(env, _weights.frontier(env, lam))

    @classmethod
    def published(cls, env: Environment) -> "Objective":
        """Make the published objective of the environment, over metrics and schemes.

        Raises:
            FairgymError: If the environment declares none.
        """
        return cls.weighted(env, _weights.published(env))

    @classmethod
    def named(cls, env: Environment, name: str) -> "Objective":
        """Make an objective by its name on the command line.

        Args:
            env: Environment with the metrics.
            name: "uniform", "direct", "direct-fair", "direct-fair-rate", "half-direct",
                "published", "frontier:LAMBDA"; "own:AGENT" for the terms that concern an agent
                (`ComponentInfo.used_by`); or a welfare, such as "nash", "max-min:COMPONENT".

        Raises:
            FairgymError: If the name is unknown.
        """
        return cls.weighted(env, _weights.named_weights(env, name))

    def bounded(self, bounds: Mapping[str, float] | float) -> "Objective":
        """Return this objective with bounds, |disparity| < epsilon.

        Args:
            bounds: Epsilon by metric name, or one epsilon for every disparity among the terms. A
                bounded disparity has no weight in the sum any more.
        """
        if not isinstance(bounds, Mapping):
            if not isinstance(bounds, numbers.Real):
                raise FairgymError(f"bounds must be a number, or one per metric, got {bounds!r}")
            names = self.terms or tuple(self.metrics)
            bounds = {n: float(bounds) for n in names if self.metrics[n].kind == "fair"}
        weights = {name: w for name, w in self.weights.items() if name not in bounds}
        return dataclasses.replace(self, weights=weights, bounds=dict(bounds))

    # ---------------------------------------------------------------- use

    @property
    def weighed_schemes(self) -> dict[str, Scheme]:
        """Schemes with a weight, by name."""
        return {name: self.schemes[name] for name in self.weights if name in self.schemes}

    def score(
        self,
        totals: Counts,
        memories: Mapping[str, PyTree] | None = None,
        multipliers: Float[Array, " bounds"] | None = None,
    ) -> Float[Array, ""]:
        """Return equation (1) for the discounted component sums of an episode.

        Args:
            totals: Component sums.
            memories: States of the schemes at the end of the episode, by name
                (`Episode.memories`); needed only for schemes with a weight.
            multipliers: Multipliers of the bounds, in their order; None ignores the bounds.

        Raises:
            FairgymError: If the state of a scheme is missing.
        """
        total = jnp.float32(0.0)
        for name, weight in self._weighed_metrics():
            total = total + weight * self.metrics[name].normalised(totals)
        for name, scheme in self.weighed_schemes.items():
            if name not in (memories or {}):
                raise FairgymError(
                    f"the objective weights the scheme {name!r}, so memories must have its state"
                    " at the end of the episode (Episode.memories)"
                )
            value = scheme.score((memories or {})[name]) / scheme.normaliser
            total = total + self.weights[name] * value
        if multipliers is not None and self.bounds:
            total = total - jnp.sum(multipliers * self.excess(totals))
        return total

    def initial(self, like: Components) -> dict[str, PyTree]:
        """Return the states of the weighted schemes at the start of an episode, by name.

        Args:
            like: Components of the right shapes, all zero (`fairgym.core.no_components`).
        """
        return {name: scheme.initial(like) for name, scheme in self.weighed_schemes.items()}

    def step(
        self,
        memories: Mapping[str, PyTree],
        components: Components,
        steps: int = 1,
        multipliers: Float[Array, " bounds"] | None = None,
    ) -> tuple[dict[str, Any], Float[Array, ""]]:
        """Return the states after a step, and its reward: `step_reward` plus the schemes' gains.

        A scheme's gain is the change of its score. With `steps` 1, the gains and direct rewards of
        an episode add up to its score. With `steps` T, the mean of the step rewards is its score.

        Args:
            memories: States as returned by `initial` or the last step.
            components: Components of the step.
            steps: As for `step_reward`.
            multipliers: As for `score`.
        """
        reward = self.step_reward(components, steps, multipliers)
        after = {}
        for name, scheme in self.weighed_schemes.items():
            after[name] = scheme.update(memories[name], components)
            gain = scheme.gain(memories[name], after[name])
            reward = reward + self.weights[name] * gain * (steps / scheme.normaliser)
        return after, reward

    def step_reward(
        self,
        components: Counts,
        steps: int = 1,
        multipliers: Float[Array, " bounds"] | None = None,
    ) -> Float[Array, ""]:
        """Return equation (5): the weighted sum of metrics on the components of a single step.

        The normaliser of a direct reward is that of a whole episode; a step has 1 / `steps` of it.
        Rates and disparities are those of the step's own components, and count 0 where they are
        undefined: a step without applicants of one group says nothing about the disparity of
        admissions. If all steps of an episode are alike and every metric is defined in them, the
        mean of its step rewards is its score.

        Args:
            components: Components of one step.
            steps: Number of steps T for which the normalisers of direct rewards are meant.
            multipliers: As for `score`.
        """
        total = jnp.float32(0.0)
        for name, weight in self._weighed_metrics():
            metric = self.metrics[name]
            value = metric.normalised(components) * (steps if metric.kind == "direct" else 1)
            total = total + weight * jnp.where(metric.defined(components), value, 0.0)
        if multipliers is not None and self.bounds:
            known = jnp.stack([self.metrics[name].defined(components) for name in self.bounds])
            total = total - jnp.sum(multipliers * jnp.where(known, self.excess(components), 0.0))
        return total

    def _weighed_metrics(self) -> list[tuple[str, float | Float[Array, ""]]]:
        """Return pairs (metric, weight), in the order of the weights."""
        return [(name, w) for name, w in self.weights.items() if name in self.metrics]

    def excess(self, totals: Counts) -> Float[Array, " bounds"]:
        """Return each bounded disparity minus its bound; at most 0 where the bound holds."""
        return jnp.stack(
            [
                jnp.abs(self.metrics[name].normalised(totals)) - epsilon
                for name, epsilon in self.bounds.items()
            ]
            or [jnp.zeros(())]
        )[: len(self.bounds)]

    def initial_multipliers(self) -> Float[Array, " bounds"]:
        """Return one zero per bound."""
        return jnp.zeros((len(self.bounds),), jnp.float32)

    def raise_multipliers(
        self,
        multipliers: Float[Array, " bounds"],
        excess: Float[Array, " bounds"],
        rate: float | Float[Array, ""],
    ) -> Float[Array, " bounds"]:
        """Return max(0, multiplier + rate * excess) per bound (projected dual ascent)."""
        return jnp.maximum(multipliers + rate * excess, 0.0)

    def values(self, totals: Counts) -> dict[str, Float[Array, ""]]:
        """Return every metric's raw value by name, with or without a weight here."""
        return {name: metric.value(totals) for name, metric in self.metrics.items()}
