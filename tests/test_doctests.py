"""Examples in docstrings do what they show.

Docstrings are read from the source: run-time type checking wraps functions, and doctest's own
search then takes them for somebody else's.
"""

import ast
import doctest
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"

# Names that users meet first; each has an example.
CENTRAL = {
    "fairgym.utils.registry.Registry",
    "fairgym.utils.registry.make",
    "fairgym.core.rollout.rollout",
    "fairgym.core.components.Memory",
    "fairgym.wrappers.augmented.augmented",
    "fairgym.utils.changes.changed_number",
    "fairgym.core.recording.record",
    "fairgym.core.observed.Entities",
    "fairgym.core.observed.EntitySpace",
    "fairgym.core.spaces.per_group",
    "fairgym.core.params.Params",
    "fairgym.core.choices.Discrete",
    "fairgym.core.choices.OneEntity",
    "fairgym.core.shares.Shares",
    "fairgym.core.unit.PerEntity",
    "fairgym.core.unit.Unit",
    "fairgym.fairness.metrics.Direct",
    "fairgym.fairness.disparities.Disparity",
    "fairgym.fairness.metrics.Rate",
    "fairgym.fairness.objective.Objective",
    "fairgym.policies.fixed.Constant",
    "fairgym.policies.fixed.fixed_policies",
    "fairgym.policies.named.with_fixed",
    "fairgym.policies.networks.equivariant",
    "fairgym.config.run_config.RunConfig",
    "fairgym.config.parameters.with_params",
    "fairgym.statistics.intervals.mean_interval",
    "fairgym.statistics.comparisons.paired_test",
}


def docstrings(path):
    """Pairs (dotted name, docstring node) of a module."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def visit(node, name):
        body = node.body
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            yield name, body[0].value
        for child in body:
            if isinstance(child, ast.ClassDef | ast.FunctionDef):
                yield from visit(child, f"{name}.{child.name}")

    yield from visit(ast.parse(path.read_text()), module)


def examples():
    """Every docstring with an example: name -> doctest."""
    parser = doctest.DocTestParser()
    return {
        name: parser.get_doctest(node.value, {}, name, str(path), node.lineno - 1)
        for path in sorted(SOURCE.rglob("*.py"))
        for name, node in docstrings(path)
        if isinstance(node.value, str) and ">>>" in node.value
    }


EXAMPLES = examples()


def test_central_names_have_an_example():
    assert set(EXAMPLES) >= CENTRAL


# Programs of other parts, whose tests say the same: in the full tier.
DEAR = {
    "fairgym.adapters.gymnasium.GymnasiumEnv",
    "fairgym.adapters.gymnax.GymnaxEnv",
    "fairgym.adapters.jaxmarl.JaxMarlEnv",
    "fairgym.adapters.pettingzoo.PettingZooEnv",
    "fairgym.core.components.Memory",
    "fairgym.policies.counterfactual.group_flips",
    "fairgym.policies.exploration.sampled",
    "fairgym.policies.massaging.massaged",
    "fairgym.training.scenarios.simulate",
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=pytest.mark.full) if one in DEAR else one for one in EXAMPLES],
)
def test_the_example_is_true(name):
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(EXAMPLES[name], out=said.append)
    assert runner.failures == 0, "".join(said)
    assert runner.tries > 0
