"""A worker process: it trains the runs that it is given, one after another.

It answers with tuples whose first entry is one of the words below. It ends when the process that
began it has gone, however that one ended, for the pipe between them is closed then.
"""

import contextlib
import os
import queue
import signal
import threading
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection

import jax

from fairgym.core import FairgymError
from fairgym.sweeps.plan import Planned
from fairgym.utils.plugins import import_plugin, reason_of

READY, PROGRESS, FINISHED, FAILED, STOPPED = "ready", "progress", "finished", "failed", "stopped"
STOP = "stop"  # what it is told instead of an order


def work(pipe: Connection, devices: int) -> None:
    """Train what the pipe orders, for as long as it is open.

    Args:
        pipe: Connection to the process that began this one.
        devices: Number of processor devices of that process: results are rounded differently on
            another number. 0 where it computes on something else than the processor.
    """
    # A terminal's Ctrl-C reaches all processes; the one that began this one passes it on.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if devices and "host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        with contextlib.suppress(RuntimeError):  # a script has set JAX up as it did there
            jax.config.update("jax_num_cpu_devices", devices)
    orders: queue.SimpleQueue[Planned] = queue.SimpleQueue()
    stop = threading.Event()
    threading.Thread(target=_listen, args=(pipe, orders, stop), daemon=True).start()
    pipe.send((READY,))
    while True:
        pipe.send(_outcome(orders.get(), pipe, stop))


def _listen(pipe: Connection, orders: "queue.SimpleQueue[Planned]", stop: threading.Event) -> None:
    """Thread that hears what is said while a compiled program runs."""
    while True:
        try:
            message = pipe.recv()
        except (EOFError, OSError):
            os._exit(0)  # what a run folder holds is whole at every moment
        if message == STOP:
            stop.set()
        else:
            orders.put(message)


def _outcome(order: Planned, pipe: Connection, stop: threading.Event) -> tuple[str, ...]:
    """Train one run, and tell how it ended."""

    def progress(epoch: int, epochs: int, line: Mapping[str, object] | None) -> None:
        pipe.send((PROGRESS, epoch, epochs, line))
        if stop.is_set() and epoch < epochs:
            raise KeyboardInterrupt

    try:
        for module in order.imports:
            if module != "__main__":  # a script, which was read when this process began
                import_plugin(module)
        order.train(progress)
    except KeyboardInterrupt:
        return (STOPPED,)
    except Exception as error:
        if not isinstance(error, FairgymError):
            traceback.print_exc()
        return FAILED, reason_of(error)
    return (FINISHED,)
