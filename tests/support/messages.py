"""The message catalogue of torch 2.13 (CPU build) that claygrad keeps as the first line of its own messages."""

LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
VIEWLEAF = "a view of a leaf Variable that requires grad is being used in an in-place operation."
DIRTYLEAF = "a leaf Variable that requires grad has been used in an in-place operation."
SAVED = "one of the variables needed for gradient computation has been modified by an inplace operation: …"
TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)
IMPLICIT = "grad can be implicitly created only for scalar outputs"
NOREQ = "element 0 of tensors does not require grad and does not have a grad_fn"
NOGRADVIEW = (
    "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this use case "
    "is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace "
    "either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you want "
    "the inplace to be tracked)."
)
NONLEAFGRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
    "populated "
    "during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use "
    ".retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the "
    "leaf "
    "Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information."
)
CGRAPH = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
    "which "
    "can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to "
    "use "
    "this function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and "
    "avoid the leak."
)
OVERLAP1 = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
    "clone() the tensor before performing the operation."
)
OVERLAP2 = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
    "location. Please clone() the tensor before performing the operation."
)
NUMPY = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
CUDA = "Torch not compiled with CUDA enabled"


def shape_mismatch(gradient: list[int], output: list[int]) -> str:
    """The text for a gradient whose shape is not its output's."""
    return (
        f"Mismatch in shape: grad_output[0] has a shape of torch.Size({gradient}) "
        f"and output[0] has a shape of torch.Size({output})."
    )


def unused(index: int = 0) -> str:
    """The text for an input that the output does not depend on."""
    return (
        f"The differentiated Tensor at index {index} appears to not have been used in the graph. "
        "Set allow_unused=True if this is the desired behavior."
    )


def multiview(op: str, number: int = 0) -> str:
    """The text for writing to one of several views made by one call."""
    return (
        f"Output {number} of {op} is a view and is being modified inplace. This view is the output of a function that "
        "returns multiple views. Such functions do not allow the output views to be modified inplace. You should "
        "replace "
        "the inplace operation by an out-of-place one."
    )


def bad_gradient(node: str, got: list[int], wanted: list[int], index: int = 0) -> str:
    """The text for a node that returned a gradient of the wrong shape."""
    return (
        f"Function {node} returned an invalid gradient at index {index} - got {got} but expected shape compatible with "
        f"{wanted}"
    )
