"""The numbers of the epidemic."""

from fairgym.core import Params, param


class EpidemicParams(Params):
    """Parameters of the epidemic, chances per step; every field may be vmapped over.

    Defaults are those of Hu, Lear and Zhang (2023); `Epidemic.default_params` has those of the
    harder variant.
    """

    infection: float = param(
        0.5,
        "tau: chance that an infected contact infects a susceptible person",
        unit="per step",
        low=0.0,
        high=1.0,
    )
    onset: float = param(
        0.5,
        "chance that an exposed person becomes infectious (SEIR)",
        unit="per step",
        low=0.0,
        high=1.0,
    )
    recovery: float = param(
        0.005,
        "rho: chance that an infected person recovers",
        unit="per step",
        low=0.0,
        high=1.0,
    )
    waning: float = param(
        0.0,
        "chance that an immune person becomes susceptible again (harder variant: 0.2)",
        unit="per step",
        low=0.0,
        high=1.0,
    )
    efficacy: float = param(
        1.0, "chance that the vaccine makes a susceptible person immune", low=0.0, high=1.0
    )
    cure: float = param(
        0.0,
        "chance that the vaccine makes an exposed or infected person recover",
        low=0.0,
        high=1.0,
    )
