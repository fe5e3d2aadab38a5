"""Errors of the user's own code: one sentence, and the traceback cut to the user's files."""

import sys

import pytest

from fairgym.core import FairgymError
from fairgym.utils import own_code
from fairgym.utils.own_code import know_module, know_name, reason_of, text_of, traceback_of
from fairgym.utils.plugins import load_object

MODULE = """
class Clinic:
    def visit(self, n):
        return divide(n)

    @property
    def beds(self):
        return divide(0)

def divide(n):
    return 1 / n

def outer(call):
    return call()
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of the user's in the current folder, forgotten afterwards."""
    (tmp_path / "plug_clinic.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(own_code, "_names", {})
    monkeypatch.setattr(own_code, "_modules", set())
    load_object("plug_clinic:Clinic")
    yield sys.modules["plug_clinic"]
    del sys.modules["plug_clinic"]


def caught(call, *given):
    with pytest.raises(BaseException) as error:
        call(*given)
    shown = error.value.__traceback__
    assert shown is not None
    return error.value.with_traceback(shown.tb_next)  # without this file


def test_the_sentence_names_the_function_and_the_line(module):
    error = caught(module.Clinic().visit, 0)
    reason = "error in {} (plug_clinic.py:4): ZeroDivisionError: division by zero"
    assert reason_of(error) == reason.format("Clinic.visit()")
    know_name(module.Clinic, "the environment 'clinic'")
    assert reason_of(error) == reason.format("visit() of the environment 'clinic'")
    know_name(module.divide, "the rule 'halves'")
    assert reason_of(caught(module.divide, 0)).startswith("error in the rule 'halves' (plug_clinic")


def test_the_traceback_has_the_users_files_only(module):
    error = caught(lambda: module.outer(lambda: int("x")))
    shown = traceback_of(error)
    assert shown.startswith("Traceback (most recent call last):\n") and "outer" in shown
    assert shown.endswith("\nValueError: invalid literal for int() with base 10: 'x'\n")
    deep = caught(load_object, "plug_clinic:nothing")
    assert traceback_of(deep) == "", "an error of fairgym for its user"
    assert traceback_of(ValueError("never raised")) == ""


def test_the_notes_of_jax_are_left_out_and_others_kept(module):
    error = caught(module.divide, 0)
    error.add_note("--------------------\nFor simplicity, JAX has removed its internal frames from")
    error.add_note("of the clinic")
    assert "JAX" not in traceback_of(error) and "of the clinic" in traceback_of(error)


def test_the_cause_of_an_error_counts(module):
    sentence = FairgymError("the rule fails")
    sentence.__cause__ = caught(module.divide, 0)
    assert reason_of(sentence) == "the rule fails"
    assert "in divide" in traceback_of(sentence)


def test_installed_packages_are_own_code_if_they_were_imported_as_such(module, monkeypatch):
    inside = {"__name__": "plug_installed"}
    code = "def f():\n    return 1 / 0\n"
    exec(compile(code, "/usr/lib/site-packages/plug_installed.py", "exec"), inside)
    error = caught(inside["f"])
    assert traceback_of(error) == "" and reason_of(error) == "ZeroDivisionError: division by zero"
    know_module("plug_installed.inner")
    assert "plug_installed.py" in traceback_of(error)
    assert reason_of(error).startswith("error in f() (plug_installed.py:2): ")


def test_messages_that_cannot_be_printed():
    class Odd(Exception):
        def __str__(self):
            raise GeneratorExit

    assert text_of(Odd()) == "its message cannot be printed"
    assert reason_of(Odd()) == "Odd: its message cannot be printed"
