"""`check_environment` passes what is sound and catches every kind of defect."""

import dataclasses
from functools import cached_property

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.core import Tracer
from jax.custom_batching import custom_vmap
from room import Room
from tiers import in_tiers
from toys import Toy, ToyNoise

from fairgym.core import Components, EntitySpace, EnvironmentSpec, Feature, Unit, component
from fairgym.fairness import Direct, Rate
from fairgym.testing import PROPERTIES, ConformanceError, check_environment, environment
from fairgym.wrappers import NeverEnds

NAMES = {law.check.__name__: law for law in PROPERTIES}


def test_a_sound_environment_passes():
    check_environment(Toy())


def test_a_later_state_is_checked_too():
    """A defect that shows at time 3 or later, in a check of two steps."""

    def change(skill, before):
        return skill + jnp.where(before.time >= 3, 0.1, 0.0) * jnp.roll(before.skill, 1)

    env = with_state(skill=lambda s, b: change(s.skill, b))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environment, "PROPERTIES", (NAMES["numbering"],))
        check_environment(env, steps=2)
        later = env.initial_state(jax.random.key(0), env.default_params)
        with pytest.raises(ConformanceError, match="people renumbered"):
            check_environment(env, steps=2, later=later.replace(time=jnp.int32(3)))


def fails_alone(law, env, message):
    """Run one property of the table; it must fail with this message, or pass if None."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environment, "PROPERTIES", (law,))
        if message is None:
            check_environment(env)
            return
        with pytest.raises(ConformanceError, match=message) as caught:
            check_environment(env)
    assert law.name in str(caught.value) and env.name in str(caught.value)
    assert "\n" not in str(caught.value)


def after(change):
    """A Toy whose `transition` is followed by `change(self, result, noise, state, actions)`."""

    class Changed(Toy):
        def transition(self, noise, state, actions, params):
            result = super().transition(noise, state, actions, params)
            return change(self, result, noise, state, actions)

    return Changed()


def set_unchecked(struct, values):
    """As `replace`, past the type check of the constructor."""
    for name, value in values.items():
        struct = eqx.tree_at(lambda s, n=name: getattr(s, n), struct, value)
    return struct


def with_state(**changes):
    """A Toy whose next state is changed: field -> function of (next state, previous state)."""

    def change(env, result, noise, before, actions):
        state, components, ended = result
        values = {name: f(state, before) for name, f in changes.items()}
        return set_unchecked(state, values), components, ended

    return after(change)


def with_components(**changes):
    """A Toy whose components are changed: field -> function of (components, noise, s, actions)."""

    def change(env, result, noise, before, actions):
        state, components, ended = result
        values = {name: f(components, noise, before, actions) for name, f in changes.items()}
        return state, set_unchecked(components, values), ended

    return after(change)


SPEC = {field.name for field in dataclasses.fields(EnvironmentSpec)}


def subclass(**changes):
    """A Toy with other methods, or with another declaration."""
    declared = {name: value for name, value in changes.items() if name in SPEC}
    methods = {name: value for name, value in changes.items() if name not in SPEC}
    if "metrics" in declared:  # all of them are terms
        declared.setdefault("terms", ())
    if declared:
        spec = Toy().spec
        methods["spec"] = property(lambda _: dataclasses.replace(spec, **declared))
    return type("Changed", (Toy,), methods)()


def crowded(env):
    """The same environment with fewer people than places, so that some rows are masked."""
    return dataclasses.replace(env, places=11, seats=2)


class LooseSpace(Unit):
    def sample(self, key):
        return super().sample(key) + 1.0


class HalvingSpace(Unit):
    def clip(self, action):
        return super().clip(action) / 2


class RoughSpace(Unit):
    def sample(self, key):
        return super().sample(key).astype(jnp.float16)


class NamelessSpace(Unit):
    @property
    def names(self):
        return ("all",)


LOOSE, NARROW = LooseSpace(("a",)), EntitySpace(3, ())
HALVING, ROUGH, NAMELESS = HalvingSpace(("a",)), RoughSpace(("a",)), NamelessSpace(("a", "b"))


def observe_everything(self, state, params):
    return Toy().observe(state, params)


def talkative_step(self, *arguments):
    observations, state, *rest = Toy.step(self, *arguments)
    level = observations["level"].replace(context=jnp.zeros(2))
    return observations | {"level": level}, state, *rest


class NotFinite(Direct):
    def value(self, totals):
        return jnp.log(-jnp.abs(super().value(totals)))


class Positive(Direct):
    kind = "fair"

    def value(self, totals):
        return jnp.float32(1.0)


class OtherComponents(Components):
    people: jax.Array = component("people", unit="people", used_by=("nobody",))


@custom_vmap
def off_under_vmap(x):
    return x


@off_under_vmap.def_vmap
def _(size, batched, x):
    return x + 1.0, batched[0]


def observed(change):
    """A Toy whose observations are changed."""

    def observe(self, state, params):
        return change(Toy.observe(self, state, params), state)

    return subclass(observe=observe)


def rank_features(change):
    return observed(
        lambda seen, state: (
            seen | {"rank": seen["rank"].replace(features=change(seen["rank"].features))}
        )
    )


def traced(x):
    return isinstance(x, Tracer)


def ties_by_number(self, noise, state, actions, params):
    """Serves the first of equal scores by row, not at random."""
    return Toy.transition(
        self,
        noise.replace(tie=jnp.arange(self.population) / self.population),
        state,
        actions,
        params,
    )


@dataclasses.dataclass(frozen=True)
class Warmth:
    """The warmest step, as a memory and a scheme, with some of its methods changed."""

    change: tuple = ()

    def initial(self, like):
        return jnp.zeros(1)

    def update(self, memory, components):
        warmest = jnp.maximum(memory, components.comfort)
        return dict(self.change).get("update", lambda new: new)(warmest)

    def features(self, env):
        return "", (Feature("warmest"),)

    def shown(self, memory):
        return {"warmest": dict(self.change).get("shown", lambda seen: seen)(memory)}

    def score(self, memory):
        return dict(self.change).get("score", lambda score: score)(memory[0])


def remembering(name="warmest", **change):
    """A room with a memory and a scheme that is changed."""
    memory = Warmth(tuple(change.items()))

    @dataclasses.dataclass(frozen=True)
    class Remembering(Room):
        @cached_property
        def spec(self):
            return dataclasses.replace(
                super().spec,
                schemes={name: memory},
                memories={name: memory},
            )

    return Remembering()


BROKEN = {
    "two values from a transition": (
        "contract",
        after(lambda env, r, n, s, a: r[:2]),
        r"transition\(\) of the environment 'toy' must return .*, got 2 values$",
    ),
    "no space": (
        "contract",
        subclass(action_space=lambda self, agent: None),
        r"action_space\('level'\) of the environment 'toy' must return .*ActionSpace, got None$",
    ),
    "a sound memory": ("memories", remembering(), None),
    "a memory grows": (
        "memories",
        remembering(update=lambda m: jnp.append(m, 0.0)),
        r"memory 'warmest' before and after a step: the value is float32\[1\] first and",
    ),
    "a memory folds otherwise when compiled": (
        "memories",
        remembering(update=lambda m: m + 1.0 if traced(m) else m),
        "memory 'warmest' step by step and over the trace: the value is",
    ),
    "a memory that cannot be seen": (
        "memories",
        remembering(shown=lambda m: m / 0.0 * 0.0),
        "the observation of 'heater' with the memory 'warmest' after 0 steps is outside its space",
    ),
    "a score that is none": (
        "memories",
        remembering(score=lambda score: jnp.log(-1.0 - score)),
        "scheme 'warmest' must be a finite number, got nan",
    ),
    "a scheme named as a metric": (
        "memories",
        remembering("comfort"),
        "'comfort' names both a metric and a scheme",
    ),
    "a published objective over nothing": (
        "declarations",
        subclass(published={"welfare": 1.0}),
        "unknown metric 'welfare'",
    ),
    "a dtype changes": (
        "structure",
        with_state(stage=lambda s, b: s.stage.astype(jnp.float32)),
        r"state.*stage is int32\[12\] first and float32\[12\] later",
    ),
    "a shape changes": (
        "structure",
        subclass(step=talkative_step),
        r"level.context is float32\[1\] first and float32\[2\] later",
    ),
    "time stands still": (
        "structure",
        with_state(time=lambda s, b: b.time),
        "add 1 to state.time, got 0 to 0",
    ),
    "terminated is a number": (
        "structure",
        subclass(step=lambda self, *a: (*Toy.step(self, *a)[:3], 0.0, *Toy.step(self, *a)[4:])),
        "terminated must be one truth value, got",
    ),
    "an agent sees nothing": (
        "structure",
        observed(lambda seen, state: {k: v for k, v in seen.items() if k != "rank"}),
        "observations must be of the agents",
    ),
    "Python branches on a number": (
        "structure",
        after(lambda env, r, n, s, a: r if s.time > 3 else (r[0], r[1], s.time > 9)),
        "TracerBoolConversionError",
    ),
    "an action that clipping changes": (
        "spaces",
        subclass(action_space=lambda self, agent, space=HALVING: space),
        "an action of agent 'level' inside its space, and the same action clipped: ",
    ),
    "an action of another type": (
        "spaces",
        subclass(action_space=lambda self, agent, space=ROUGH: space),
        "a sampled action of agent 'level' is float16, not <class 'jax.numpy.float32'>",
    ),
    "fewer names than numbers": (
        "spaces",
        subclass(action_space=lambda self, agent, space=NAMELESS: space),
        "the action space of 'level' has 1 names and counts 2 numbers",
    ),
    "a new space at every call": (
        "spaces",
        subclass(action_space=lambda self, agent: Unit(("a", "b"))),
        r"action_space\('level'\) returns a new object",
    ),
    "samples outside the space": (
        "spaces",
        subclass(action_space=lambda self, agent, space=LOOSE: space),
        "a sampled action of agent 'level' is outside its space",
    ),
    "too many rows": (
        "observations",
        subclass(
            observation_space=lambda self, agent, space=NARROW: space,
            observe=observe_everything,
        ),
        r"the observation of agent 'level' after 0 steps has shapes .* its space has",
    ),
    "a feature is not a number": (
        "observations",
        rank_features(lambda f: jnp.log(-1 - jnp.abs(f))),
        "agent 'rank' after 0 steps has features that are not finite",
    ),
    "masked rows are not zero": (
        "observations",
        crowded(rank_features(lambda f: f + 1.0)),
        "agent 'rank' after 1 steps has masked rows that are not zero",
    ),
    "a component is an integer": (
        "components",
        with_components(members=lambda c, n, s, a: c.members.astype(jnp.int32)),
        "component 'members' of step 0 must be float32, got int32",
    ),
    "a component is a total": (
        "components",
        with_components(served=lambda c, n, s, a: jnp.sum(c.served)),
        r"component 'served' of step 0 has shape \(\); declared: one number per group",
    ),
    "a component is infinite": (
        "components",
        with_components(gain=lambda c, n, s, a: c.gain / 0.0),
        "component 'gain' of step 0 is not finite",
    ),
    "a count is negative": (
        "components",
        with_components(queued=lambda c, n, s, a: c.queued - 9.0),
        "component 'queued' of step 0 is negative",
    ),
    "people get lost": (
        "census",
        with_state(stage=lambda s, b: jnp.where(s.stage == 1, 7, s.stage)),
        r"the census after 1 steps counts 7 people in .*; there are 12",
    ),
    "features of a few": (
        "census",
        subclass(
            people=lambda self, s: Toy.people(self, s) | {"skill": s.skill[:4]},
            observe=observe_everything,
        ),
        r"people\['skill'\] after 0 steps is not one finite number for each of the 12",
    ),
    "an unknown core attribute": (
        "stages_and_features",
        subclass(core_attribute="height"),
        "core_attribute 'height'",
    ),
    "no stages": (
        "stages_and_features",
        subclass(stages=()),
        r"stages must be a tuple of different names, got \(\)",
    ),
    "partitions by an unknown feature": (
        "stages_and_features",
        subclass(partitions={"height": ("tall", "small")}),
        "partitions has 'height', which `people` does not have",
    ),
    "waits in an unknown stage": (
        "stages_and_features",
        subclass(waits={"sleeping": "skill"}),
        "feature of `people`, got 'sleeping': 'skill'",
    ),
    "waits by an unknown feature": (
        "stages_and_features",
        subclass(waits={"queued": "height"}),
        "feature of `people`, got 'queued': 'height'",
    ),
    "a component of nobody": (
        "declarations",
        subclass(components=OtherComponents),
        "component 'people' names an unknown agent 'nobody'",
    ),
    "an agent twice": (
        "declarations",
        subclass(agents=("level", "level")),
        "agents must be a tuple of different names",
    ),
    "a baseline that does not fit": (
        "declarations",
        subclass(baselines={"b": {"level": 3.0}}),
        "policy of .level.: a constant action must be .*, got 3.0",
    ),
    "a period of nobody": (
        "idle_agents",
        subclass(periods={"boss": 2}),
        "periods names an unknown agent 'boss'",
    ),
    "half a period": (
        "idle_agents",
        subclass(periods={"level": 0}),
        "period of 'level' must be a whole number from 1, got 0",
    ),
    "acting between its actions": (
        "idle_agents",
        subclass(periods={"level": 2}),
        "step 1 with other actions of agents that do not act in this step: .*gain",
    ),
    "not hashable": ("declarations", subclass(__hash__=None), "TypeError: unhashable"),
    "randomness from elsewhere": (
        "same_key",
        with_state(skill=lambda s, b: s.skill + np.random.default_rng().uniform()),
        r"step twice with one key: observations\.level\.features is",
    ),
    "noise without a key": (
        "different_key",
        subclass(noise=lambda self, key, params: Toy.noise(self, jax.random.key(0), params)),
        "two keys give the same noise",
    ),
    "noise that does nothing": (
        "different_key",
        subclass(
            initial_state=lambda self, key, params: Toy.initial_state(
                self, jax.random.key(0), params
            ),
            transition=lambda self, noise, state, actions, params: Toy.transition(
                self, jax.tree.map(jnp.zeros_like, noise), state, actions, params
            ),
        ),
        "the same start and the same episode",
    ),
    "actions are not clipped": (
        "actions_are_clipped",
        subclass(
            advance=lambda self, key, state, actions, params: self.transition(
                self.noise(key, params), state, actions, params
            )
        ),
        r"with actions out of range, and with the same actions clipped: .* is nan",
    ),
    "large actions are not clipped": (
        "actions_are_clipped",
        subclass(
            advance=lambda self, key, state, actions, params: self.transition(
                self.noise(key, params),
                state,
                {agent: jnp.maximum(jnp.nan_to_num(x), 0.0) for agent, x in actions.items()},
                params,
            )
        ),
        "with actions out of range, and with the same actions clipped: ",
    ),
    "scores of empty places count": (
        "masked_rows",
        crowded(
            with_components(served=lambda c, n, s, a: c.served + jnp.sum(a["rank"])),
        ),
        r"other numbers in masked rows of the actions: .*served",
    ),
    "compiled otherwise": (
        "compiled_is_eager",
        with_state(skill=lambda s, b: s.skill + (1.0 if traced(s.skill) else 0.0)),
        r"step 0 without and with jit: observations\.level\.features is",
    ),
    "vmapped otherwise": (
        "vmapped_is_looped",
        with_state(skill=lambda s, b: off_under_vmap(s.skill)),
        r"steps in a loop and under vmap: observations\.level\.features is",
    ),
    "params vmapped otherwise": (
        "vmapped_is_looped",
        subclass(
            initial_state=lambda self, key, params: set_unchecked(
                Toy.initial_state(self, key, params),
                {"skill": jnp.ones(12) * off_under_vmap(jnp.asarray(params.luck))},
            ),
        ),
        "reset in a loop and under vmap: observations.level.features is",
    ),
    "ties go by number": (
        "numbering",
        subclass(transition=ties_by_number),
        "people renumbered",
    ),
    "noise without declared axes": (
        "numbering",
        subclass(
            noise=lambda self, key, params: dict(vars(Toy.noise(self, key, params))),
            transition=lambda self, noise, state, actions, params: Toy.transition(
                self, ToyNoise(**noise), state, actions, params
            ),
        ),
        r"dict\['tie'\] is an array without declared axes; declare it as a field of a Struct",
    ),
    "neighbours meet": (
        "numbering",
        with_state(skill=lambda s, b: s.skill + 0.1 * jnp.roll(b.skill, 1)),
        "people renumbered",
    ),
    "the first person counts more": (
        "numbering",
        with_components(gain=lambda c, n, s, a: c.gain + s.skill[0]),
        "components of step 0, with people renumbered: gain is",
    ),
    "two steps at once": (
        "counting_stops",
        with_state(time=lambda s, b: s.time + 1),
        "ends at time",
    ),
    "the episode does not end": (
        "counting_stops",
        subclass(
            advance=lambda self, *a: (*Toy.advance(self, *a)[:2], jnp.array(False)),
        ),
        None,  # the failure that the check adds is not overridden
    ),
    "truncated too early": (
        "horizon",
        subclass(step=lambda self, *a: (*Toy.step(self, *a)[:4], jnp.array(True), {})),
        "truncated is True at time 1 of 6",
    ),
    "never truncated": (
        "horizon",
        subclass(step=lambda self, *a: (*Toy.step(self, *a)[:4], jnp.array(False), {})),
        "truncated is False at ",
    ),
    "a metric is not a number": (
        "metrics",
        subclass(metrics={"m": NotFinite("gain")}),
        "metric 'm' of an episode must be a finite number, got nan",
    ),
    "a rate has no unit": (
        "metrics",
        subclass(metrics={"m": Rate("gain", "members")}),
        "must declare a unit",
    ),
    "unfair is better": (
        "metrics",
        subclass(metrics={"m": Positive("gain")}),
        "disparity 'm' of an episode must be at most 0 .parity., got 1.0",
    ),
}


# Of each property one defect.
FIRST = {law: defect for defect, (law, *_) in reversed(BROKEN.items())}.values()


@pytest.mark.parametrize("defect", in_tiers(BROKEN, *FIRST))
def test_each_defect_is_caught(defect):
    law, env, message = BROKEN[defect]
    fails_alone(NAMES[law], env, message)


def test_every_property_has_a_defect_that_it_catches():
    assert {law for law, _, message in BROKEN.values() if message} == set(NAMES)


@pytest.mark.parametrize("defect", ["unfair is better"])
def test_the_whole_check_catches_them_too(defect):
    _, env, message = BROKEN[defect]
    with pytest.raises(ConformanceError, match=message):
        check_environment(env)


def test_one_flip_in_three_keys_is_forgiven(monkeypatch):
    def failing(times):
        calls = []

        def check(case):
            calls.append(case)
            if len(calls) <= times:
                raise ConformanceError("a decision turned")

        return environment.Property("rounding", check, rounds=True), calls

    law, calls = failing(1)
    monkeypatch.setattr(environment, "PROPERTIES", (law,))
    check_environment(Toy())
    assert len(calls) == 3
    law, _ = failing(2)
    monkeypatch.setattr(environment, "PROPERTIES", (law,))
    with pytest.raises(ConformanceError, match="a decision turned"):
        check_environment(Toy())


# ------------------------------------------------------------------ systems without people


class TestWithoutPeople:
    def test_the_properties_of_people_are_passed_over(self):
        check_environment(Room())
        assert not hasattr(Room(), "census")

    def test_the_others_are_not(self):
        class Cold(Room):
            def advance(self, key, state, actions, params):
                return self.transition(self.noise(key, params), state, actions, params)

        fails_alone(NAMES["actions_are_clipped"], Cold(), "the same actions clipped")

    def test_wrappers_of_people_are_held_to_their_properties(self):
        _, env, message = BROKEN["neighbours meet"]
        fails_alone(NAMES["numbering"], NeverEnds(env), message)
