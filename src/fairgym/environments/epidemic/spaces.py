"""Observations of the clinic."""

from collections.abc import Sequence

from fairgym.core import EntitySpace, Feature


def observation_space(
    stages: Sequence[str],
    people: int,
    most_contacts: int,
    horizon: int,
    *,
    shows_contacts: bool,
    shows_time: bool,
) -> EntitySpace:
    """Everybody, with their state of health.

    Args:
        stages: states of health.
        people: number of people.
        most_contacts: largest number of people whom somebody meets.
        horizon: number of steps.
        shows_contacts: whether numbers of infected contacts are seen.
        shows_time: whether the time is seen.
    """
    features = [Feature(stage, levels=2, of="health") for stage in stages]
    features.append(Feature("vaccinated", levels=2, source="whether a vaccine was given so far"))
    if shows_contacts:
        features.append(
            Feature(
                "infected_contacts", 0, most_contacts, "people", "N_I", levels=most_contacts + 1
            )
        )
    features.append(Feature("group", levels=2, source="0 or 1: the community", fixed=True))
    features.append(Feature("degree", 0, most_contacts, "people", "number of contacts", fixed=True))
    time = Feature("time", 0, horizon, "steps", levels=horizon + 1)
    return EntitySpace(people, tuple(features), (time,) if shows_time else ())
