"""Count what a step of each environment is compiled to.

Run `python benchmarks/compiled_steps.py loan health education` (half a minute each). It prints, for
episodes with the two-layer networks, the equations of a step before compilation, the fused loops of
the program of one episode, and for a batch of episodes under `vmap` the kernels of a step and the
bytes that they read and write at most. A kernel is an operation that a GPU would launch: a fused
loop, a product, a sort, a copy. The programs are those that XLA compiles for a CPU; its compiler
for GPUs fuses in other places, so that the numbers are a guide there.
"""

import argparse
import math
import re
from collections.abc import Iterator

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

import fairgym
from fairgym.core import rollout
from fairgym.policies import equivariant

NO_KERNEL = {
    *("bitcast", "call", "conditional", "constant", "get-tuple-element", "iota", "parameter"),
    *("tuple", "while"),
}
SIZES = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "s64": 8, "u64": 8, "f64": 8}  # otherwise 4
OPERATION = re.compile(
    r"^\s+(?:ROOT )?%?([\w.\-]+) = (\([^=]*?\)|\S+) ([\w\-]+)\((.*)", re.MULTILINE
)


def inner(equation: PyTree) -> list[PyTree]:
    """Return the programs inside an equation, such as the body of a loop."""
    parameters = jax.tree.leaves(list(equation.params.values()))
    return [one.jaxpr for one in parameters if hasattr(one, "jaxpr")]


def loops(jaxpr: PyTree) -> Iterator[PyTree]:
    """Yield the programs inside the outermost loops of a program."""
    for equation in jaxpr.eqns:
        for one in inner(equation):
            yield from [one] if equation.primitive.name in ("scan", "while") else loops(one)


def equations(jaxpr: PyTree) -> int:
    """Count the equations of a program, those of its inner programs included."""
    return sum(sum(map(equations, inner(one))) if inner(one) else 1 for one in jaxpr.eqns)


def size(shape: str) -> int:
    """Return the bytes of an array or a tuple of arrays, as XLA writes its type."""
    return sum(
        SIZES.get(kind, 4) * math.prod(int(n) for n in numbers.split(",") if n)
        for kind, numbers in re.findall(r"(\w+)\[([\d,]*)\]", shape)
    )


class Compiled:
    """A compiled program as text."""

    def __init__(self, text: str) -> None:
        parts = re.split(r"\n(?=(?:ENTRY )?%?[\w.\-]+ \(.*\{\n)", text)
        named = [(re.match(r"(?:ENTRY )?%?([\w.\-]+) \(", part), part) for part in parts]
        self.operations = {
            match.group(1): OPERATION.findall(part) for match, part in named if match
        }
        self.fused_loops = len(re.findall(r" fusion\(", text))
        bodies = re.findall(r"body=%?([\w.\-]+)", text)
        self.step = max(bodies, key=self._fusions)

    def _fusions(self, computation: str) -> int:
        return sum(kind == "fusion" for _, _, kind, _ in self.operations[computation])

    def kernels(self, computation: str) -> tuple[int, int]:
        """Count kernels and bytes of a computation, with its branches and inner loops, once."""
        operations = self.operations[computation]
        shapes = {name: shape for name, shape, _, _ in operations}
        number = moved = 0
        for _, shape, kind, rest in operations:
            arguments, _, attributes = rest.partition(")")
            if kind not in NO_KERNEL:
                number += 1
                read = (shapes.get(name, "") for name in re.findall(r"%([\w.\-]+)", arguments))
                moved += size(shape) + sum(map(size, read))
            elif kind in ("call", "conditional", "while"):
                for name in re.findall(r"%([\w.\-]+)", attributes):
                    if name in self.operations:
                        inner = self.kernels(name)
                        number, moved = number + inner[0], moved + inner[1]
        return number, moved


def main() -> None:
    """Print one line per environment."""
    parser = argparse.ArgumentParser(description="Count what a step is compiled to.")
    parser.add_argument("environments", nargs="*", default=["loan", "health", "education"])
    parser.add_argument("--population", type=int, default=1_000)
    parser.add_argument("--batch", type=int, default=100)
    asked = parser.parse_args()
    print(f"{'':<14} {'equations':>9} {'fused':>6} {'kernels':>8} {'MB':>7}")
    for name in asked.environments:
        env = fairgym.make(name, population=asked.population)
        weights, rest = eqx.partition(equivariant(env, jax.random.key(0)), eqx.is_inexact_array)

        def episode(weights: PyTree, key: PyTree) -> PyTree:
            found = rollout(env, env.default_params, eqx.combine(weights, rest), key)  # noqa: B023
            return found.totals, found.length

        key = jax.random.key(0)
        step = max(equations(body) for body in loops(jax.make_jaxpr(episode)(weights, key).jaxpr))
        one = Compiled(jax.jit(episode).lower(weights, key).compile().as_text() or "")
        many = jax.tree.map(lambda x: jnp.broadcast_to(x, (asked.batch, *x.shape)), weights)
        batch = jax.jit(jax.vmap(episode)).lower(many, jax.random.split(key, asked.batch))
        together = Compiled(batch.compile().as_text() or "")
        number, moved = together.kernels(together.step)
        print(f"{name:<14} {step:>9} {one.fused_loops:>6} {number:>8} {moved / 1e6:>7.0f}")


if __name__ == "__main__":
    main()
