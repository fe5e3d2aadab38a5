"""Runs that share a program in one vectorised update."""

import contextlib

import fates
import jax
import numpy as np
import pytest
import two_servers  # noqa: F401 - registers an environment that compiles quickly

from fairgym.config import sweep_of
from fairgym.core import FairgymError
from fairgym.sweeps import Local, Processes, engine_of, entries_of, results_of
from fairgym.sweeps import together as vectorised
from fairgym.sweeps.together import Vmap

MACEM = {
    "environment": "two_servers",
    "epochs": 3,
    "episodes_per_epoch": 4,
    "hidden": 2,
    "evaluation_episodes": 3,
}


def entries_in(out, seeds="0:2", **changes):
    grid = {"arrivals": [1.5, 2.5, 3.0]}
    return entries_of(sweep_of({"base": MACEM | changes, "grid": grid, "seeds": seeds}), out)


def quietly(one):
    return contextlib.nullcontext(lambda done, total, line: None)


def trained(engine, entries):
    said = []
    assert engine.run([entry.run for entry in entries], quietly, said.append) == []
    assert all(entry.run.finished for entry in entries)
    return results_of(entries), said


@pytest.mark.full
@pytest.mark.parametrize("width", [2, 4, 8])
def test_together_is_one_after_another_up_to_rounding(tmp_path, width):
    one, _ = trained(Local(), entries_in(tmp_path / "one"))
    other, said = trained(Vmap(width), entries_in(tmp_path / "other"))
    assert said == []
    for alone, beside in zip(one, other, strict=True):
        assert {k: v for k, v in alone.items() if isinstance(v, str | int)}.items() >= {
            ("seed", beside["seed"]),
            ("epochs", 3),
        }
        for name, value in alone.items():
            if isinstance(value, float):
                assert beside[name] == pytest.approx(value, abs=1e-4), name
    assert len({row["score"] for row in other}) == 6, "each has its own"


@pytest.mark.full
def test_one_update_for_all_of_a_program(tmp_path, monkeypatch):
    calls = []

    def counted(algorithm, states, real=vectorised._in_one):
        calls.append(len(states))
        return real(algorithm, states)

    monkeypatch.setattr(vectorised, "_in_one", counted)
    trained(Vmap(4), entries_in(tmp_path))
    assert calls == [4, 4, 4, 2, 2, 2]  # six runs of three epochs


@pytest.mark.full
def test_a_run_that_was_begun_goes_on_and_leaves_early(tmp_path):
    """Those that are ahead end first; the others are not held up, nor compiled anew."""
    entries = entries_in(tmp_path / "one", seeds="0:1")
    ahead = entries[0].run

    class Enough(BaseException):
        pass

    def progress(done, total, line):
        if done == 2:
            raise Enough

    def show(one):
        return contextlib.nullcontext(progress)

    with pytest.raises(Enough):
        Local().run([ahead], show, print)
    (found, *_), _ = trained(Vmap(), entries)
    (whole, *_), _ = trained(Local(), entries_in(tmp_path / "whole", seeds="0:1"))
    assert found["score"] == pytest.approx(whole["score"], abs=1e-4) and found["epochs"] == 3


@pytest.mark.full
def test_ctrl_c_keeps_what_all_have(tmp_path):
    entries = entries_in(tmp_path, seeds="0:1")

    def show(one):
        def progress(done, total, line):
            if done == 2 and one.folder == entries[1].run.folder:
                raise KeyboardInterrupt

        return contextlib.nullcontext(progress)

    with pytest.raises(KeyboardInterrupt):
        Vmap().run([entry.run for entry in entries], show, print)
    assert [entry.status for entry in entries] == ["begun"] * 3
    assert [entry.epochs for entry in entries] == [2, 2, 1]
    rows, _ = trained(Vmap(), entries)
    whole, _ = trained(Vmap(), entries_in(tmp_path / "whole", seeds="0:1"))
    assert [row["score"] for row in rows] == pytest.approx([row["score"] for row in whole])


def test_a_failure_keeps_no_other_from_being_trained(tmp_path):
    entries = entries_in(tmp_path, seeds="0:1")
    entries[1].run.folder.parent.mkdir(parents=True)
    entries[1].run.folder.touch()  # a file where its folder should be
    (failed,) = Vmap().run([entry.run for entry in entries], quietly, print)
    assert failed.run is entries[1].run
    assert [entry.run.finished for entry in (entries[0], entries[2])] == [True, True]


def test_a_crash_of_one_is_its_own(tmp_path, monkeypatch):
    """Of runs that share an update one has a bug, which is told of that run alone."""
    monkeypatch.setenv("FATES", str(tmp_path))
    (tmp_path / "broken-1").touch()
    base = {"environment": "two_servers", "algorithm": "fated", "epochs": 4, "fate": "broken"}
    entries = entries_of(sweep_of({"base": base, "seeds": "0:3"}), tmp_path / "out")
    planned = [entry.run for entry in entries]
    assert len({one.program for one in planned}) == 1
    (failed,) = Vmap().run(planned, quietly, print)
    assert failed == (planned[0], fates.BUG)
    assert [(entry.epochs, entry.run.finished) for entry in entries] == [
        (2, False),
        (4, True),
        (4, True),
    ]
    assert Vmap().run(planned, quietly, print) == [] and planned[0].finished


@pytest.mark.full
def test_what_cannot_be_vectorised_is_trained_one_after_another(tmp_path):
    grid = {"algorithm": "grid-search", "steps": 2}
    base = {k: v for k, v in MACEM.items() if k == "environment"} | grid
    entries = entries_of(sweep_of({"base": base, "grid": {"arrivals": [1.5, 2.5]}}), tmp_path)
    _, said = trained(Vmap(), entries)
    assert said == [
        "an update of GridSearch cannot be vectorised (ConcretizationTypeError); one after another"
    ]


def test_vectorised_states_are_those_of_single_updates(tmp_path):
    """One update, leaf by leaf."""
    from fairgym.training.run import initial_state

    jobs = [entry.run.config.build() for entry in entries_in(tmp_path)]
    algorithm, states = jobs[0].algorithm, [initial_state(job) for job in jobs]
    for state, (found, log) in zip(states, vectorised._in_one(algorithm, states), strict=True):
        alone, own = algorithm.update(state)
        for a, b in zip(jax.tree.leaves(alone), jax.tree.leaves(found), strict=True):
            assert np.allclose(a, b, atol=1e-5)
        assert {k: float(v) for k, v in own.items()} == pytest.approx(log, abs=1e-4, nan_ok=True)


def test_engines_go_by_their_names():
    assert isinstance(engine_of(), Local) and isinstance(engine_of(1), Local)
    several, one, wide = engine_of(3), engine_of(1, "processes"), engine_of(5, "vmap")
    assert isinstance(several, Processes) and several.workers == 3
    assert isinstance(one, Processes) and isinstance(wide, Vmap) and wide.width == 5
    assert isinstance(engine_of(name="vmap"), Vmap)
    for words, message in [
        ((2, "local"), "workers must be 1 for the engine local, got 2"),
        ((None, "dask"), "engine must be one of local, vmap, processes, ray.*got 'dask'"),
        ((0,), "workers must be a whole number from 1 to 256, got 0"),
    ]:
        with pytest.raises(FairgymError, match=message):
            engine_of(*words)
