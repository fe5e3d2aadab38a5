"""The formulas and steps of the epidemic (Hu, Lear and Zhang 2023, section VI-C).

The formulas come first. Common arguments: `stage`, each person's state of health;
`contact_matrix`, 1 where two people meet; `states`, the number of states of health; `params`, as
`Epidemic.default_params`.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from fairgym.environments.epidemic.types import EpidemicComponents, EpidemicParams

Number = float | Float[Array, ""]
SUSCEPTIBLE = 0  # the first stage; the last one is recovered


def infection_chance(
    infected_contacts: Float[Array, "*people"], infection: Number
) -> Float[Array, "*people"]:
    """Return the probability of infection, P_I = 1 - (1 - tau)^|N_I| (section VI-C).

    Args:
        infected_contacts: Number of infected people whom each person meets.
        infection: Probability that one of them infects the person.
    """
    return 1.0 - jnp.power(1.0 - infection, infected_contacts)


def chance_to_pass_on(
    stage: Int[Array, " people"],
    infected: Float[Array, " people"],
    params: EpidemicParams,
    states: int,
) -> Float[Array, " people"]:
    """Return the probability that each person moves to the next state of health.

    Args:
        stage: State of health of each person.
        infected: Probability that each person is infected if susceptible.
        params: Probabilities of onset, recovery and waning.
        states: Number of states of health: 3, or 4 with exposed people.
    """
    later = jnp.where(
        stage == states - 2,
        params.recovery,
        jnp.where(stage == states - 1, params.waning, params.onset),
    )
    return jnp.where(stage == 0, infected, later)


def effect_chance(
    stage: Int[Array, "*people"], efficacy: Number, cure: Number, states: int
) -> Float[Array, "*people"]:
    """Return the probability that a vaccine makes the person immune.

    Args:
        stage: State of health of the vaccinated person.
        efficacy: Probability for a susceptible person.
        cure: Probability for an exposed or infected person.
        states: Number of states of health.
    """
    sick = jnp.where(stage == states - 1, 0.0, cure)
    return jnp.where(stage == 0, efficacy, sick)


COMMUNITIES = 2


def immunised(
    stage: Int[Array, " people"],
    given: Bool[Array, " people"],
    effect: Float[Array, ""],
    params: EpidemicParams,
    states: int,
) -> Int[Array, " people"]:
    """Step 1: return the states of health after these people have been given a vaccine.

    Args:
        stage: States of health before.
        given: Who is given a vaccine.
        effect: Uniform in [0, 1), the same for all.
        params: Parameters of the environment.
        states: Number of states of health.
    """
    chance = effect_chance(stage, params.efficacy, params.cure, states)
    return jnp.where(given & (effect < chance), states - 1, stage)


def spread(
    stage: Int[Array, " people"],
    fate: Float[Array, " people"],
    contact_matrix: Float[np.ndarray, "people people"],
    params: EpidemicParams,
    states: int,
) -> Int[Array, " people"]:
    """Step 2: return the states of health after infection, onset, recovery and waning at once.

    Args:
        stage: States of health after the vaccine.
        fate: Uniform in [0, 1) for each person.
        contact_matrix: Who meets whom.
        params: Parameters of the environment.
        states: Number of states of health.
    """
    chance = _chance_to_pass_on(stage, contact_matrix, params, states)
    return jnp.where(fate < chance, (stage + 1) % states, stage)


def _chance_to_pass_on(
    stage: Int[Array, " people"],
    contact_matrix: Float[np.ndarray, "people people"],
    params: EpidemicParams,
    states: int,
) -> Float[Array, " people"]:
    """Return the probability that each person moves to the next state of health."""
    met = infected_contacts(stage, contact_matrix, states)
    infected = infection_chance(met, params.infection)
    return chance_to_pass_on(stage, infected, params, states)


def infected_contacts(
    stage: Int[Array, " people"],
    contact_matrix: Float[np.ndarray, "people people"],
    states: int,
) -> Float[Array, " people"]:
    """Return the number of infected people whom each person meets."""
    infected = (stage == states - 2).astype(jnp.float32)
    return jnp.dot(contact_matrix, infected, precision="highest")


def counted(
    community: Int[np.ndarray, " people"],
    given: Float[Array, " people"],
    wasted: Float[Array, ""],
    infected: Float[Array, " people"],
    health: Float[Array, "people states"],
) -> EpidemicComponents:
    """Return the components of a step: people, or probabilities, summed by community.

    Args:
        community: Community of each person, 0 or 1.
        given: 1 for people who are given a vaccine.
        wasted: Number of vaccines without effect.
        infected: 1 for people infected in this step, or the probability of it.
        health: 1 for each person's state of health after the step, or its probability.
    """
    member = np.arange(COMMUNITIES)[:, None] == community
    people = jnp.concatenate([given[:, None], infected[:, None], health], axis=1)
    sums = jnp.dot(member.astype(np.float32), people, precision="highest")
    by_state = sums[:, 2:]
    return EpidemicComponents(
        vaccinated=sums[:, 0],
        wasted=wasted,
        newly_infected=sums[:, 1],
        people=jnp.asarray(member.sum(axis=1), jnp.float32),
        not_infected=by_state[:, SUSCEPTIBLE] + by_state[:, -1],
        health=by_state,
    )


def expected_components(
    stage: Int[Array, " people"],
    given: Bool[Array, " people"],
    community: Int[np.ndarray, " people"],
    contact_matrix: Float[np.ndarray, "people people"],
    params: EpidemicParams,
    states: int,
) -> EpidemicComponents:
    """Return the expected components of a step.

    Args:
        stage: States of health before the step.
        given: Who is given a vaccine: nobody or one person.
        community: Community of each person, 0 or 1.
        contact_matrix: Who meets whom.
        params: Parameters of the environment.
        states: Number of states of health.
    """
    chance = effect_chance(stage, params.efficacy, params.cure, states)
    effect = jnp.sum(jnp.where(given, chance, 0.0))

    def after(protected: Int[Array, " people"]) -> EpidemicComponents:
        """Return the expectation, given whether the vaccine had an effect."""
        passing = _chance_to_pass_on(protected, contact_matrix, params, states)
        now, following = one_hot(protected, states), one_hot((protected + 1) % states, states)
        return counted(
            community,
            given=given.astype(jnp.float32),
            wasted=jnp.sum(given & (protected == stage), dtype=jnp.float32),
            infected=jnp.where(protected == SUSCEPTIBLE, passing, 0.0),
            health=now + passing[:, None] * (following - now),
        )

    with_effect, without = after(jnp.where(given, states - 1, stage)), after(stage)
    return jax.tree.map(lambda w, o: effect * w + (1.0 - effect) * o, with_effect, without)


def one_hot(stage: Int[Array, " people"], states: int) -> Float[Array, "people states"]:
    """Return 1 for each person's state of health, 0 for the others."""
    return jax.nn.one_hot(stage, states, dtype=jnp.float32)
