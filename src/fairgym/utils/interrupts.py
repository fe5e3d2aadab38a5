"""Ctrl-C in commands: answered at once, and never lost.

A compiled program can run for minutes before Python's signal handlers run, and an exception that is
raised in a callback of the garbage collector is swallowed. So a command listens for signals in a
separate thread, and checks again when its work is done.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator

ENDED = 130  # exit code, as of shells


class Listener:
    """State of Ctrl-C during one command.

    Attributes:
        heard: Whether Ctrl-C was pressed.
        patient: Message on the first Ctrl-C where the current work is finished first; "" where it
            raises KeyboardInterrupt at once.
        last_words: Returns the message on the second Ctrl-C, which ends the process.
    """

    def __init__(self) -> None:
        self.heard = False
        self.patient = ""
        self.last_words: Callable[[], str] = lambda: "interrupted"

    def handle(self, *_: object) -> None:
        """Handle the signal in Python, after a compiled program has returned."""
        self.heard = True
        if not self.patient:
            raise KeyboardInterrupt

    def answer(self, signals: int) -> None:
        """Read signals as they arrive; runs in a thread.

        Args:
            signals: File descriptor with one byte per signal.
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
        """End the process at once, which is safe since run folders are always consistent."""
        for stream in (sys.__stdout__, sys.__stderr__):
            if stream is not None and stream.isatty():
                stream.write("\x1b[?25h")  # show the cursor that a progress bar hid
                stream.flush()
        self._write(self.last_words())
        os._exit(ENDED)


_listener: Listener | None = None


@contextlib.contextmanager
def listening() -> Iterator[None]:
    """Listen for Ctrl-C, unless another handler is set or this is not the main thread."""
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
    """Delay the first Ctrl-C until `look` is called; a context manager or decorator.

    Args:
        answer: Message that is printed at once.
    """
    look()
    listener = _listener or Listener()
    before, listener.patient = listener.patient, answer
    try:
        yield
    finally:
        listener.patient = before


def look() -> None:
    """Raise a KeyboardInterrupt that was delayed or swallowed."""
    if _listener is not None and _listener.heard:
        raise KeyboardInterrupt


def set_last_words(words: Callable[[], str]) -> None:
    """Set the function that returns the message when a second Ctrl-C ends the command."""
    if _listener is not None:
        _listener.last_words = words
