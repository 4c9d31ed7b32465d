"""Shapes in annotations: jaxtyping with beartype, and torchtyping, in functions and modules."""
import torch
from beartype import beartype
from jaxtyping import Float, Int, TypeCheckError, jaxtyped
from report import tell


@jaxtyped(typechecker=beartype)
def matmul(a: Float[torch.Tensor, "n k"], b: Float[torch.Tensor, "k m"]) -> Float[torch.Tensor, "n m"]:  # noqa: F722
    return a @ b


@jaxtyped(typechecker=beartype)
def pick(a: Float[torch.Tensor, "*batch n"], i: Int[torch.Tensor, ""]) -> Float[torch.Tensor, "*batch"]:  # noqa: F722
    return a[..., i]


def main():
    torch.manual_seed(0)
    tell("product", matmul(torch.randn(2, 3), torch.randn(3, 4)))
    tell("picked", pick(torch.randn(2, 3), torch.tensor(1)))
    for wrong in (lambda: matmul(torch.randn(2, 3), torch.randn(4, 4)), lambda: matmul(torch.randn(2, 3).int(), torch.randn(3, 4)),
                  lambda: pick(torch.randn(2, 3), torch.tensor(1.0))):
        try:
            wrong()
            tell("passed", True)
        except TypeCheckError as error:
            tell("refused", type(error).__name__)
    tell("instance", [isinstance(torch.zeros(2, 3), Float[torch.Tensor, "2 _"]), isinstance(torch.zeros(2, 3, dtype=torch.bfloat16), Float[torch.Tensor, "..."]),
                      isinstance(torch.nn.Parameter(torch.zeros(3)), Float[torch.Tensor, "4"])])


main()
