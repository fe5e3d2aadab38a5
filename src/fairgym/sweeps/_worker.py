"""A worker process, which trains the runs it receives one after another.

It answers with tuples whose first entry is one of the words below. It ends when the process that
started it has ended for whatever reason, because that closes the pipe between them.
"""

import contextlib
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection

import jax

from fairgym.core import FairgymError
from fairgym.sweeps.plan import Planned
from fairgym.utils.own_code import reason_of, traceback_of
from fairgym.utils.plugins import import_plugin

READY, PROGRESS, FINISHED, FAILED, STOPPED = "ready", "progress", "finished", "failed", "stopped"
STOP = "stop"  # message to the worker, instead of a run


def work(pipe: Connection, devices: int) -> None:
    """Train the runs that arrive through the pipe, as long as it is open.

    Args:
        pipe: Connection to the process that started this one.
        devices: Number of CPU devices of that process, because another number rounds differently.
            0 if it does not compute on the CPU.
    """
    # A terminal's Ctrl-C reaches all processes; the parent process passes it on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if devices and "host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        with contextlib.suppress(RuntimeError):  # a script has already initialised JAX
            jax.config.update("jax_num_cpu_devices", devices)
    orders: queue.SimpleQueue[Planned] = queue.SimpleQueue()
    stop = threading.Event()
    threading.Thread(target=_listen, args=(pipe, orders, stop), daemon=True).start()
    pipe.send((READY,))
    while True:
        pipe.send(_outcome(orders.get(), pipe, stop))


def _listen(pipe: Connection, orders: "queue.SimpleQueue[Planned]", stop: threading.Event) -> None:
    """Receive messages in a thread, also while a compiled program runs."""
    while True:
        try:
            message = pipe.recv()
        except (EOFError, OSError):
            os._exit(0)  # run folders are consistent at every moment
        if message == STOP:
            stop.set()
        else:
            orders.put(message)


def _outcome(order: Planned, pipe: Connection, stop: threading.Event) -> tuple[str, ...]:
    """Train one run, and return how it ended."""

    def progress(epoch: int, epochs: int, line: Mapping[str, object] | None) -> None:
        pipe.send((PROGRESS, epoch, epochs, line))
        if stop.is_set() and epoch < epochs:
            raise KeyboardInterrupt

    try:
        for module in order.imports:
            if module != "__main__":  # a script, imported when this process started
                import_plugin(module)
        order.train(progress)
    except KeyboardInterrupt:
        return (STOPPED,)
    except Exception as error:
        if own := traceback_of(error):
            print(own, end="", file=sys.stderr)
        elif not isinstance(error, FairgymError):
            traceback.print_exc()
        return FAILED, reason_of(error)
    return (FINISHED,)
