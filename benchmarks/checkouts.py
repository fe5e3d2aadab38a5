"""Compare the speed of several checkouts of fairgym, in turns, on one core.

For example, after `git worktree add /tmp/before COMMIT`:

    python benchmarks/checkouts.py /tmp/before . --step loan health --people 1000 10000
    python benchmarks/checkouts.py /tmp/before . --update f-ppo:attention f-mappo:loan:300
    python benchmarks/checkouts.py /tmp/before . --command train loan --population 300 --epochs 2

`--step` prints microseconds per environment step without and with the two-layer networks, and the
peak memory of the process in GiB. `--update` prints CPU seconds of a learner's set-up and first
update (without a compilation cache) and of further updates, `--command` those of a `fairgym`
command, cold (with an empty compilation cache) and warm.

Ratios are to the first checkout, medians over the turns. All checkouts run with this Python and
its libraries. CPU time is counted, so that other load on the machine matters little.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

# Only names that have been public for long: the worker runs inside old checkouts too.
STEPS = """
import copy, sys, time
import equinox as eqx, jax, jax.numpy as jnp
import fairgym
from fairgym.policies import Constant, equivariant
from fairgym.core import rollout

name, people, networks = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "True"
env = fairgym.make(name, population=people, horizon=400 if people < 100_000 else 40)
if networks:
    policies = equivariant(env, jax.random.key(0))
else:
    policies = {}
    for place, agent in enumerate(env.agents):
        space = env.action_space(agent)
        plain = space.clip(jnp.full(space.shape, 0.15))
        scores = space.sample(jax.random.fold_in(jax.random.key(0), place))
        policies[agent] = Constant(space, scores if hasattr(space, "capacity") else plain)

def advance(key, state, actions, params):
    state, components, terminated = env.advance(key, state, actions, params)
    return state, components, jnp.zeros_like(terminated)

endless = copy.copy(env)  # an early failure would leave little but the reset to measure
object.__setattr__(endless, "advance", advance)
weights, rest = eqx.partition(policies, eqx.is_inexact_array)

@jax.jit
def program(weights, key):
    acting = eqx.combine(weights, rest)
    episode = rollout(endless, env.default_params, acting, key)
    return episode.length, episode.totals

jax.block_until_ready(program(weights, jax.random.key(0)))
for turn, _ in enumerate(sys.stdin):
    begun = time.process_time()
    steps = int(program(weights, jax.random.key(turn))[0])
    print("measured", 1e6 * (time.process_time() - begun) / steps, flush=True)
"""

UPDATES = """
import sys, time
import fairgym, jax
from fairgym.algorithms import algorithms
from fairgym.fairness import Objective

begun = time.process_time()
algorithm, name, *people = sys.argv[1].split(":")
env = fairgym.make(name, **({"population": int(people[0])} if people else {}))
learner = algorithms.get(algorithm)()
state = learner.init(jax.random.key(0), env, Objective.half_direct(env))
state, _ = jax.block_until_ready(learner.update(state))
print("measured", time.process_time() - begun, flush=True)
for _ in sys.stdin:
    begun = time.process_time()
    state, _ = jax.block_until_ready(learner.update(state))
    print("measured", time.process_time() - begun, flush=True)
"""

COMMAND = """
import resource, sys
from fairgym.cli import main

main(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_SELF)
print("\\nmeasured", used.ru_utime + used.ru_stime)
"""


def started(checkout: str, code: str, words: Sequence[str], **more: str) -> subprocess.Popen[str]:
    """Start a worker on one core with the package of a checkout."""
    one_core = ["taskset", "-c", str(max(os.sched_getaffinity(0)))]
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(checkout).resolve() / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
        **more,
    }
    return subprocess.Popen(
        [*one_core, sys.executable, "-c", code, *words],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def number_from(worker: subprocess.Popen[str]) -> float:
    """Return the next number that a worker measures."""
    assert worker.stdout
    for line in worker.stdout:
        if line.startswith("measured "):
            return float(line.split()[1])
    sys.exit(f"a worker stopped: {' '.join(map(str, worker.args))}"[:200])  # pyright: ignore[reportArgumentType]


def in_turns(what: str, runs: dict[str, Callable[[], float]], turns: int) -> None:
    """Measure every checkout once per turn, and print medians and ratios."""
    found = {checkout: [] for checkout in runs}
    for _ in range(turns):
        for checkout, run in runs.items():
            found[checkout].append(run())
    first = next(iter(found.values()))
    for checkout, numbers in found.items():
        ratio = statistics.median(one / base for one, base in zip(numbers, first, strict=True))
        print(
            f"{what:<32} {checkout:<24} {statistics.median(numbers):>10.3f} {ratio:>7.3f}",
            flush=True,
        )


def again(worker: subprocess.Popen[str]) -> float:
    """Let a worker measure once more, and return its number."""
    assert worker.stdin
    worker.stdin.write("\n")
    worker.stdin.flush()
    return number_from(worker)


def peak_memory(worker: subprocess.Popen[str]) -> float:
    """Return the peak memory of a running worker, in GiB."""
    status = Path(f"/proc/{worker.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 2**20


def measure_steps(checkouts: Sequence[str], name: str, people: int, turns: int) -> None:
    """Print the time of a step without and with networks."""
    for networks in (False, True):
        words = [name, str(people), str(networks)]
        workers = {checkout: started(checkout, STEPS, words) for checkout in checkouts}
        runs = {checkout: lambda w=worker: again(w) for checkout, worker in workers.items()}
        what = f"{name} {people:,}{' networks' if networks else ''}"
        in_turns(f"{what}, us", runs, turns)
        for checkout, worker in workers.items():
            print(f"{what + ', GiB':<32} {checkout:<24} {peak_memory(worker):>10.2f}", flush=True)


def measure_updates(checkouts: Sequence[str], learner: str, turns: int) -> None:
    """Print the time of a learner's first update and of further ones."""
    workers: dict[str, subprocess.Popen[str]] = {}

    def first(checkout: str) -> float:
        cold = {"JAX_ENABLE_COMPILATION_CACHE": "false"}
        workers[checkout] = started(checkout, UPDATES, [learner], **cold)
        return number_from(workers[checkout])

    in_turns(f"{learner}, first, s", {c: lambda c=c: first(c) for c in checkouts}, turns)
    in_turns(f"{learner}, more, s", {c: lambda c=c: again(workers[c]) for c in checkouts}, turns)


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", nargs="+", help="folders; the first is compared with")
    parser.add_argument("--step", nargs="+", default=(), metavar="NAME", help="environments")
    parser.add_argument("--people", nargs="+", type=int, default=[1_000, 10_000])
    parser.add_argument("--update", nargs="+", default=(), metavar="ALGORITHM:ENVIRONMENT[:PEOPLE]")
    parser.add_argument("--command", nargs=argparse.REMAINDER, help="words after `fairgym`")
    parser.add_argument("--turns", type=int, default=7)
    asked = parser.parse_args()
    print(f"{'':<32} {'checkout':<24} {'median':>10} {'ratio':>7}")
    for name in asked.step:
        for people in asked.people:
            measure_steps(asked.checkouts, name, people, asked.turns)
    for learner in asked.update:
        measure_updates(asked.checkouts, learner, asked.turns)
    with tempfile.TemporaryDirectory() as folder:
        caches = {checkout: tempfile.mkdtemp(dir=folder) for checkout in asked.checkouts}
        for warm in (False, True) if asked.command else ():

            def run(checkout: str, warm: bool = warm) -> float:
                out = Path(tempfile.mkdtemp(dir=folder))
                cache = caches[checkout] if warm else str(out / "cache")
                words = [*asked.command, "--out", str(out / "run")]
                worker = started(checkout, COMMAND, words, JAX_COMPILATION_CACHE_DIR=cache)
                return number_from(worker)

            if warm:
                for checkout in asked.checkouts:
                    run(checkout)  # fills the cache
            runs = {checkout: lambda c=checkout: run(c) for checkout in asked.checkouts}
            in_turns(f"{asked.command[0]}, {'warm' if warm else 'cold'}, s", runs, asked.turns)


if __name__ == "__main__":
    main()
