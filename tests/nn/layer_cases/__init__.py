"""Every layer with arguments and inputs that tell right from wrong."""

from tests.nn.layer_cases import elementwise, losses, norms, sequences, spatial
from tests.nn.layer_cases.specs import Case

CASES: list[Case] = [*elementwise.CASES, *spatial.CASES, *norms.CASES, *losses.CASES, *sequences.CASES]

__all__ = ["CASES", "Case"]
