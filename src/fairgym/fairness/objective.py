"""Objectives: weighted sums of metrics, and reward under bounds on disparity."""

import dataclasses
import numbers
import reprlib
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from fairgym.core import Environment, FairgymError
from fairgym.fairness.checks import is_number
from fairgym.fairness.disparities import GroupRatio
from fairgym.fairness.metrics import Metric

FRONTIER = "frontier"


@dataclasses.dataclass(frozen=True)
class Objective:
    """maximise sum_k alpha_k R^(k) + sum_m beta_m F^(m) (MAFE, equation 1), over normalised terms.

    With `bounds` it is the constrained form: maximise the weighted sum subject to
    |disparity| < epsilon for each bounded metric. The learner keeps one multiplier per bound,
    adds minus multiplier times excess to the score, and raises the multiplier while the bound is
    broken (`raise_multipliers`).

    Attributes:
        metrics: the metrics by name.
        weights: weight of each metric; metrics without one weigh 0.
        bounds: epsilon of each bounded metric, on its raw (not normalised) value.

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

    def __post_init__(self) -> None:
        """Check the names."""
        for field, numbers_given in (("weights", self.weights), ("bounds", self.bounds)):
            for name, number in numbers_given.items():
                _known(name, self.metrics)
                if not is_number(number):
                    given = reprlib.repr(number)
                    raise FairgymError(f"{field} of {name!r} is {given}; it takes a number")
        for name, epsilon in self.bounds.items():
            if epsilon < 0:
                raise FairgymError(f"the bound of {name!r} is {epsilon!r}; it takes 0 or more")
            if isinstance(self.metrics[name], GroupRatio):
                raise FairgymError(
                    f"the bound of {name!r} is on a ratio, which is 1 at parity; bounds take"
                    " differences, such as Disparity and Gini"
                )

    def _parts(self) -> tuple[tuple[tuple[str, Any], ...], ...]:
        return tuple(tuple(part.items()) for part in (self.metrics, self.weights, self.bounds))

    def __eq__(self, other: object) -> bool:
        """Same names and numbers in the same order: multipliers follow the order of `bounds`."""
        return isinstance(other, Objective) and self._parts() == other._parts()

    def __hash__(self) -> int:
        """Equal objectives share compiled programs."""
        return hash(self._parts())

    # ---------------------------------------------------------------- constructors

    @classmethod
    def weighted(cls, env: Environment, weights: Mapping[str, float]) -> "Objective":
        """Weights by metric name."""
        return cls(env.metrics, dict(weights))

    @classmethod
    def uniform(cls, env: Environment) -> "Objective":
        """Every metric weighs alike: 1 / (K + M) each."""
        return cls._of_kinds(env, ("direct", "rate", "fair"))

    @classmethod
    def direct(cls, env: Environment) -> "Objective":
        """Only direct rewards (MAFE, section 6.2, setting 1)."""
        return cls._of_kinds(env, ("direct",))

    @classmethod
    def direct_fair(cls, env: Environment) -> "Objective":
        """Direct rewards and disparities, weighted alike (setting 2)."""
        return cls._of_kinds(env, ("direct", "fair"))

    @classmethod
    def direct_fair_rate(cls, env: Environment) -> "Objective":
        """Direct, disparities and rates, weighted alike (setting 3): the same as uniform."""
        return cls._of_kinds(env, ("direct", "fair", "rate"))

    @classmethod
    def half_direct(cls, env: Environment) -> "Objective":
        """Half of the weight on direct rewards, the rest shared by the disparities (D.6)."""
        direct, fair = (
            [name for name, metric in env.metrics.items() if metric.kind == kind]
            for kind in ("direct", "fair")
        )
        weights = {name: 0.5 / len(direct) for name in direct}
        return cls(env.metrics, weights | {name: 0.5 / len(fair) for name in fair})

    @classmethod
    def frontier(cls, env: Environment, lam: float) -> "Objective":
        """alpha_k = lambda / K for rewards, beta_m = (1 - lambda) / M for disparities (D.4).

        Raises:
            FairgymError: lambda outside [0, 1].
        """
        if not (isinstance(lam, numbers.Real) and 0.0 <= lam <= 1.0):
            raise FairgymError(f"lambda is {lam!r}; it takes a number from 0 to 1")
        rewards = [name for name, metric in env.metrics.items() if metric.kind != "fair"]
        fair = [name for name, metric in env.metrics.items() if metric.kind == "fair"]
        weights = {name: lam / len(rewards) for name in rewards}
        return cls(env.metrics, weights | {name: (1.0 - lam) / len(fair) for name in fair})

    @classmethod
    def named(cls, env: Environment, name: str) -> "Objective":
        """An objective by its name on the command line.

        Args:
            env: the environment whose metrics it weighs.
            name: "uniform", "direct", "direct-fair", "direct-fair-rate", "half-direct" or
                "frontier:LAMBDA".

        Raises:
            FairgymError: any other name.
        """
        simple = {
            "uniform": cls.uniform,
            "direct": cls.direct,
            "direct-fair": cls.direct_fair,
            "direct-fair-rate": cls.direct_fair_rate,
            "half-direct": cls.half_direct,
        }
        if name in simple:
            return simple[name](env)
        kind, _, lam = name.partition(":")
        try:
            if kind == FRONTIER:
                return cls.frontier(env, float(lam))
        except ValueError:
            pass
        raise FairgymError(
            f"objective is {name!r}; it takes: {', '.join(simple)}, or frontier:LAMBDA with"
            " LAMBDA from 0 to 1"
        )

    @classmethod
    def _of_kinds(cls, env: Environment, kinds: tuple[str, ...]) -> "Objective":
        names = [name for name, metric in env.metrics.items() if metric.kind in kinds]
        return cls(env.metrics, {name: 1.0 / len(names) for name in names})

    def bounded(self, bounds: Mapping[str, float] | float) -> "Objective":
        """This objective under bounds: |disparity| < epsilon.

        Args:
            bounds: epsilon by metric name, or one epsilon for all disparities. A bounded
                disparity no longer weighs in the sum.
        """
        if not isinstance(bounds, Mapping):
            if not isinstance(bounds, numbers.Real):
                raise FairgymError(f"bounds is {bounds!r}; it takes a number, or one per metric")
            bounds = {n: float(bounds) for n, m in self.metrics.items() if m.kind == "fair"}
        weights = {name: w for name, w in self.weights.items() if name not in bounds}
        return dataclasses.replace(self, weights=weights, bounds=dict(bounds))

    # ---------------------------------------------------------------- use

    def score(
        self, totals: Any, multipliers: Float[Array, " bounds"] | None = None
    ) -> Float[Array, ""]:
        """Equation (1) on the discounted component sums of an episode.

        Args:
            totals: component sums.
            multipliers: multipliers of the bounds, in their order; None leaves bounds out.
        """
        total = jnp.float32(0.0)
        for name, weight in self.weights.items():
            total = total + weight * self.metrics[name].normalised(totals)
        if multipliers is not None and self.bounds:
            total = total - jnp.sum(multipliers * self.excess(totals))
        return total

    def step_reward(
        self,
        components: Any,
        steps: int = 1,
        multipliers: Float[Array, " bounds"] | None = None,
    ) -> Float[Array, ""]:
        """Equation (5): the same weighted sum on the components of a single step.

        The normaliser of a direct reward is that of a whole episode, of which a step has 1 /
        `steps`; rates and disparities are those of the step's own components, and count 0 where
        they are undefined: a step in which one group has no applicant tells nothing about the
        disparity of admissions. If all steps of an episode are alike and everything is defined in
        them, the mean of its step rewards is its score.

        Args:
            components: components of one step.
            steps: T, the number of steps that the normalisers of direct rewards are meant for.
            multipliers: as for `score`.
        """
        total = jnp.float32(0.0)
        for name, weight in self.weights.items():
            metric = self.metrics[name]
            value = metric.normalised(components) * (steps if metric.kind == "direct" else 1)
            total = total + weight * jnp.where(metric.defined(components), value, 0.0)
        if multipliers is not None and self.bounds:
            known = jnp.stack([self.metrics[name].defined(components) for name in self.bounds])
            total = total - jnp.sum(multipliers * jnp.where(known, self.excess(components), 0.0))
        return total

    def excess(self, totals: Any) -> Float[Array, " bounds"]:
        """Excess of each bounded disparity over its bound; not above 0 where the bound is kept."""
        return jnp.stack(
            [
                jnp.abs(self.metrics[name].value(totals)) - epsilon
                for name, epsilon in self.bounds.items()
            ]
            or [jnp.zeros(())]
        )[: len(self.bounds)]

    def initial_multipliers(self) -> Float[Array, " bounds"]:
        """One zero per bound."""
        return jnp.zeros((len(self.bounds),), jnp.float32)

    def raise_multipliers(
        self,
        multipliers: Float[Array, " bounds"],
        excess: Float[Array, " bounds"],
        rate: float,
    ) -> Float[Array, " bounds"]:
        """Projected dual ascent: multiplier <- max(0, multiplier + rate * excess)."""
        return jnp.maximum(multipliers + rate * excess, 0.0)

    def values(self, totals: Any) -> dict[str, Float[Array, ""]]:
        """Every metric's raw value by name, weighted here or not."""
        return {name: metric.value(totals) for name, metric in self.metrics.items()}


def _known(name: str, metrics: Mapping[str, Metric]) -> None:
    if name not in metrics:
        raise FairgymError(f"unknown metric {name!r}; there are: {', '.join(metrics)}")
