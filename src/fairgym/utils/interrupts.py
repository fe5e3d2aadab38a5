"""Ctrl-C in commands: answered at once, and never lost.

A compiled program runs for minutes without a look at Python's signal handlers, and an exception
that is raised in a callback of the garbage collector is swallowed. So a command listens with a
thread of its own, and looks again when its work is done.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator

ENDED = 130  # exit code, as of shells


class Listener:
    """Ctrl-C during one command.

    Attributes:
        heard: True once it was pressed.
        patient: answer to the first one where it waits for the work at hand; "" where it raises
            KeyboardInterrupt.
        last_words: returns what is written when the second one ends the process.
    """

    def __init__(self) -> None:
        self.heard = False
        self.patient = ""
        self.last_words: Callable[[], str] = lambda: "interrupted"

    def handle(self, *_: object) -> None:
        """Python's handler, which runs once a compiled program has returned."""
        self.heard = True
        if not self.patient:
            raise KeyboardInterrupt

    def answer(self, signals: int) -> None:
        """Thread that reads the signals as they arrive.

        Args:
            signals: file descriptor with one byte for each.
        """
        count = 0
        while byte := os.read(signals, 1):
            if byte[0] != signal.SIGINT:
                continue
            count += 1
            if count > 1:
                self._end()
            if self.patient:
                self._write(self.patient)

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            print(text, file=sys.stderr, flush=True)

    def _end(self) -> None:
        """End the process at once; what a run folder holds is whole at every moment."""
        for stream in (sys.__stdout__, sys.__stderr__):
            if stream is not None and stream.isatty():
                stream.write("\x1b[?25h")  # the cursor, which a bar hides
                stream.flush()
        self._write(self.last_words())
        os._exit(ENDED)


_listener: Listener | None = None


@contextlib.contextmanager
def listening() -> Iterator[None]:
    """Listen to Ctrl-C; without effect where it is not Python's own, or not in the main thread."""
    global _listener
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    listener = Listener()
    signals, wake = os.pipe()
    os.set_blocking(wake, False)
    thread = threading.Thread(target=listener.answer, args=(signals,), daemon=True)
    before, _listener = _listener, listener
    signal.signal(signal.SIGINT, listener.handle)
    others = signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(others)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _listener = before
        os.close(wake)
        thread.join()
        os.close(signals)


@contextlib.contextmanager
def patiently(answer: str) -> Iterator[None]:
    """Let the first Ctrl-C wait for `look`; a context or decorator, of effect if a command listens.

    Args:
        answer: text that is written at once.
    """
    look()
    listener = _listener or Listener()
    before, listener.patient = listener.patient, answer
    try:
        yield
    finally:
        listener.patient = before


def look() -> None:
    """Raise the KeyboardInterrupt that has waited, or was swallowed."""
    if _listener is not None and _listener.heard:
        raise KeyboardInterrupt


def set_last_words(words: Callable[[], str]) -> None:
    """Set what returns the text that is written when a second Ctrl-C ends the command."""
    if _listener is not None:
        _listener.last_words = words
