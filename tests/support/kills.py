"""A process that is killed at a chosen moment, simulated within this one."""

import contextlib
import os

import pytest


class Killed(BaseException):
    """What no handler of the code under test catches."""


@contextlib.contextmanager
def killed_before(moment):
    """End the block before this rename or deletion, and let none come after it.

    Yields a list that holds the moment once it has come.
    """
    count, killed = 0, []

    def counted(call):
        def function(*arguments, **options):
            nonlocal count
            count += 1
            if count >= moment:
                raise Killed
            return call(*arguments, **options)

        return function

    with pytest.MonkeyPatch.context() as patch:
        for name in ("replace", "unlink", "rmdir"):
            patch.setattr(os, name, counted(getattr(os, name)))
        try:
            yield killed
        except Killed:
            killed.append(moment)
