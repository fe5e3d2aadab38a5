"""The formulas of the epidemic (Hu, Lear and Zhang 2023, section VI-C; D'Amour et al. 2020).

The states of health follow one another in a circle: susceptible, (exposed,) infected, recovered,
and susceptible again where immunity wanes. Stages are numbered in this order.

| symbol | name here |
| --- | --- |
| N_I(v) | `infected_contacts` |
| tau | `infection` |
| rho | `recovery` |
"""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

Number = float | Float[Array, ""]
SUSCEPTIBLE = 0  # the first stage; the last one is recovered


def infection_chance(
    infected_contacts: Float[Array, "*people"], infection: Number
) -> Float[Array, "*people"]:
    """Chance that a susceptible person is infected, P_I = 1 - (1 - tau)^|N_I| (section VI-C).

    Args:
        infected_contacts: number of infected people whom each person meets.
        infection: chance that one of them infects.
    """
    return 1.0 - jnp.power(1.0 - infection, infected_contacts)


def chance_to_pass_on(
    stage: Int[Array, " people"],
    infected: Float[Array, " people"],
    onset: Number,
    recovery: Number,
    waning: Number,
    states: int,
) -> Float[Array, " people"]:
    """Chance that each person passes on to the next state of health.

    Args:
        stage: state of health of each person.
        infected: chance that each person is infected if susceptible.
        onset: chance that an exposed person becomes infectious.
        recovery: chance that an infected person recovers.
        waning: chance that an immune person becomes susceptible.
        states: number of states of health: 3, or 4 with the exposed.
    """
    later = jnp.where(stage == states - 2, recovery, jnp.where(stage == states - 1, waning, onset))
    return jnp.where(stage == 0, infected, later)


def passed_on(
    stage: Int[Array, " people"],
    chance: Float[Array, " people"],
    fate: Float[Array, " people"],
    states: int,
) -> Int[Array, " people"]:
    """State of health of each person after the step, all at once.

    Args:
        stage: state of health of each person before.
        chance: chance that each person passes on.
        fate: uniform in [0, 1) for each person.
        states: number of states of health.
    """
    return jnp.where(fate < chance, (stage + 1) % states, stage)


def effect_chance(
    stage: Int[Array, "*people"], efficacy: Number, cure: Number, states: int
) -> Float[Array, "*people"]:
    """Chance that a vaccine has an effect, which is that the person is immune.

    Args:
        stage: state of health of who is vaccinated.
        efficacy: the chance of somebody susceptible.
        cure: the chance of somebody exposed or infected.
        states: number of states of health.
    """
    sick = jnp.where(stage == states - 1, 0.0, cure)
    return jnp.where(stage == 0, efficacy, sick)
