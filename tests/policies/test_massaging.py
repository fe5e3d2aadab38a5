"""Massaging of learned policies against an enumeration of actions, and what it is not for."""

import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fairgym
from fairgym.core import FairgymError
from fairgym.fairness import Windowed
from fairgym.policies import GaussianPolicy, equivariant, fixed_policies, massaged, sampled

KEY = jax.random.key(3)


class Lender(eqx.Module):
    """A bank that is the surer of a loan the better the score."""

    slope: float = 0.5

    def logits(self, observation):
        return jnp.array([0.0, 1.0]) * self.slope * (observation.features[0, 0] - 4.2)

    def __call__(self, observation, key):
        return jnp.argmax(self.logits(observation)).astype(jnp.int32)


def course(env, params, policies, steps):
    """Observation, action and components of each step, from a loop of `step`."""
    act, step = eqx.filter_jit(policies[env.agents[0]]), jax.jit(env.step)
    seen, state = env.reset(KEY, params)
    for number in range(steps):
        key = jax.random.fold_in(KEY, number)
        (agent,) = env.agents
        action = act(seen[agent], key)
        before = seen[agent]
        seen, state, components, *_ = step(key, state, {agent: action}, params)
        yield before, np.array(action), jax.tree.map(np.array, components)


def softmax(logits):
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


@pytest.mark.parametrize(("window", "threshold"), [(10, 0.5), (0, 0.6), (10, 0.01)])
def test_loans_are_those_of_an_enumeration(window, threshold):
    """Equation 6 by NumPy, of the gap of true positive rates in the last steps."""
    bank = fairgym.make("bank_loans", horizon=60)
    params = bank.default_params
    measure = Windowed(bank.metrics["tpr_disparity"], window)
    env, policies = massaged(bank, params, {"bank": Lender()}, threshold, measure)
    chance, rows, changed = np.array(params.repayment), [], 0
    for seen, action, components in course(env, params, policies, 60):
        score, group = int(seen.features[0, 0]) - 1, int(seen.features[0, 1])
        lean = 0.5 * (score + 1 - 4.2)
        chances, own = softmax(np.array([0.0, lean])), int(lean > 0)
        past = np.sum(rows[-(window - 1) :] if window else rows, axis=0) if rows else np.zeros(4)
        unfair = []
        for option in (0, 1):
            sums = past.copy()
            sums[group] += option * chance[score]
            sums[2 + group] += chance[score]
            rates = np.divide(sums[:2], sums[2:], out=np.zeros(2), where=sums[2:] > 0)
            unfair.append(abs(rates[0] - rates[1]))
        other = 1 - own
        near = abs(chances[0] - chances[1]) < threshold
        expected = other if near and unfair[other] < unfair[own] - 1e-6 else own
        assert action == expected, (score, group, unfair, chances)
        changed += expected != own
        rows.append(np.concatenate([components.successful, components.would_repay]))
    assert changed > 5 if threshold > 0.01 else changed == 0


@pytest.mark.full
def test_what_is_drawn_is_massaged():
    """Draws of the policy where nothing is near enough, and fairer ones with the same draws."""
    bank = fairgym.make("bank_loans", horizon=200)
    params = bank.default_params
    drawn: dict[str, Any] = {**sampled(bank, {"bank": Lender()})}
    seen, _ = bank.reset(KEY, params)
    keys = jax.random.split(KEY, 2_000)
    found = jax.vmap(lambda key: drawn["bank"](seen["bank"], key))(keys)
    chance = softmax(np.array(Lender().logits(seen["bank"])))[1]
    assert float(found.mean()) == pytest.approx(chance, abs=0.05)
    gaps = []
    for threshold in (0.0, 1.0):
        env, policies = massaged(bank, params, drawn, threshold)
        courses = fairgym.evaluate(env, params, policies, KEY, 8, trace=True)
        gaps.append(-courses.values("tpr_disparity").mean())
        if threshold == 0.0:
            plain = fairgym.evaluate(bank, params, drawn, KEY, 8)
            np.testing.assert_array_equal(courses.values("profit"), plain.values("profit"))
    assert gaps[1] < 0.5 * gaps[0]
    with pytest.raises(FairgymError, match="policies must have at least one learned policy"):
        sampled(bank, fixed_policies(bank, bank.spec.baselines["threshold"]))


def test_allocations_are_drawn_from_their_distribution():
    """Mean units against NumPy's draws of logits, apportioned one by one."""
    system = fairgym.make("attention", horizon=5)
    mean, std = np.array([0.5, 0.2, 0.0, -0.3, -0.8]), np.array([0.4, 1.0, 0.2, 0.7, 1.0])

    class Leaning(eqx.Module):
        """The same logits for every observation."""

        def logits(self, observation):
            return jnp.array(mean, jnp.float32)

        def __call__(self, observation, key):
            space = system.action_space("dispatcher")
            return space.from_logits(self.logits(observation), observation.mask)

    policy = {"dispatcher": GaussianPolicy(Leaning(), jnp.log(jnp.array(std, jnp.float32)))}
    drawn: Any = sampled(system, policy)["dispatcher"]
    seen = system.reset(KEY, system.default_params)[0]["dispatcher"]
    found = jax.vmap(lambda key: drawn(seen, key))(jax.random.split(KEY, 4_000))
    assert set(np.unique(found.sum(axis=1))) == {6}
    rng = np.random.default_rng(0)
    expected = [one_by_one(softmax(mean + std * rng.normal(size=5))) for _ in range(4_000)]
    np.testing.assert_allclose(found.mean(axis=0), np.mean(expected, axis=0), atol=0.12)
    np.testing.assert_allclose(found.std(axis=0), np.std(expected, axis=0), atol=0.12)
    without_spread = {"dispatcher": Leaning()}
    with pytest.raises(FairgymError, match="or of PPO for units to divide, for attention"):
        sampled(system, without_spread)
    with pytest.raises(FairgymError, match="'dispatcher' must have standard deviations"):
        massaged(system, system.default_params, without_spread, 0.1)


def one_by_one(shares, units=6):
    """Units given to the largest share, which then loses 1/N (section 6.2)."""
    left, given = np.array(shares, float), np.zeros(len(shares))
    for _ in range(units):
        place = np.argmax(left)
        given[place] += 1
        left[place] -= 1 / units
    return given


def with_a_unit_moved(logits, giver, taker, units=6):
    """Logits after 1/N of the mass has moved; at least 0.005 is left to the giver."""
    shares, moved = softmax(logits), np.array(logits, float)
    mass = max(0.0, shares[giver] - max(0.005, shares[giver] - 1 / units))
    shares[giver] -= mass
    shares[taker] += mass
    places = [giver, taker]
    moved[places] = np.log(np.exp(logits).sum()) + np.log(shares[places])
    return moved


def densities(values, mean, std):
    return np.exp(-0.5 * ((values - mean) / std) ** 2) / (std * np.sqrt(2 * np.pi))


@pytest.mark.parametrize(("closeness", "threshold"), [("density", 0.3), ("share", 0.15)])
def test_units_are_those_of_an_enumeration(closeness, threshold):
    """The best of all moves of a unit whose densities or shares are near enough, by NumPy."""
    system = fairgym.make("attention", horizon=40)
    params, window, std = system.default_params, 6, np.linspace(0.5, 1.5, 5)
    log_std = jnp.log(jnp.array(std, jnp.float32))
    learned = {
        "dispatcher": GaussianPolicy(equivariant(system, jax.random.key(1))["dispatcher"], log_std)
    }
    measure = Windowed(system.spec.measures["short_term"].metric, window)
    env, policies = massaged(system, params, learned, threshold, measure, closeness)
    policy, rows, changed = learned["dispatcher"], [], 0
    own_action, logits_of = eqx.filter_jit(policy), eqx.filter_jit(policy.logits)
    for seen, action, components in course(env, params, policies, 40):
        inside = seen.replace(context=seen.context[:0])
        logits = np.array(logits_of(inside), float)
        shares, own = softmax(logits), np.array(own_action(inside, KEY))
        past = np.sum(rows[-(window - 1) :], axis=0) if rows else np.zeros(5)

        def unfair(units, past=past):
            return np.abs((past + units) / (past + units).sum() - 0.2).max()

        allowed = [unfair(own)]
        for giver, taker in itertools.permutations(range(5), 2):
            other = with_a_unit_moved(logits, giver, taker)
            units = own - np.eye(5)[giver] + np.eye(5)[taker]
            if not own[giver] or np.any(one_by_one(softmax(other)) != units):
                continue
            change = densities(other, logits, std) - densities(logits, logits, std)
            apart = np.abs(change[[giver, taker]]).max()
            if closeness == "share":
                apart = abs(shares[giver] - shares[taker])
            if apart < threshold - 1e-6:
                allowed.append(unfair(units))
        assert action.sum() == 6 and unfair(action) == pytest.approx(min(allowed), abs=1e-6)
        assert np.abs(action - own).sum() in (0, 2)
        changed += not np.array_equal(action, own)
        rows.append(components.sent)
    assert changed > 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"threshold": 1.5}, "threshold must be a number from 0 to 1, got 1.5"),
        ({"measure": "gap"}, "measure must be a Windowed or one of short_term, .*, got 'gap'"),
        (
            {"policies": {"bank": "threshold"}},
            "policies must have at least one learned policy with prob",
        ),
        ({"policies": {}}, "no policy for 'bank'; bank_loans has the agents: bank"),
    ],
)
def test_what_cannot_be_massaged_is_refused(changes, message):
    bank = fairgym.make("bank_loans", horizon=5)
    given = {"policies": {"bank": Lender()}, "threshold": 0.5} | changes
    if given["policies"] == {"bank": "threshold"}:
        given["policies"] = fixed_policies(bank, given["policies"])
    with pytest.raises(FairgymError, match=message):
        massaged(bank, bank.default_params, **given)


def test_an_environment_without_expected_components_or_measures_is_refused():
    shop = fairgym.make("doughnut", population=3, horizon=5)
    learned = equivariant(shop, jax.random.key(0))
    with pytest.raises(FairgymError, match="measure must be a Windowed, got 'short_term'"):
        massaged(shop, shop.default_params, learned, 0.5)
    measure = Windowed(shop.metrics["handed_out"], 3)
    with pytest.raises(
        FairgymError, match="'server', but doughnut declares no `expected_components`"
    ):
        massaged(shop, shop.default_params, learned, 0.5, measure)
    loans = fairgym.make("loan_simple", population=10, horizon=5)
    with pytest.raises(FairgymError, match="must choose an option or divide units"):
        learned = equivariant(loans, jax.random.key(0))
        massaged(loans, loans.default_params, learned, 0.5, measure)
