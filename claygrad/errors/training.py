"""Ways out of errors of schedulers, mixed precision, data loaders and files."""

from __future__ import annotations

import ast
import re

from claygrad.errors._ways import Context, hint, say
from claygrad.errors.elements import among

say(
    r"Tried to step (\d+) times\. The specified number of total steps is (\d+)",
    "the schedule ends after "
    "total_steps={2}: call step() "
    "once for each batch, and make it with total_steps=epochs * len(loader)",
)
say(
    r"must support momentum .*`cycle_momentum` option",
    "pass cycle_momentum=False to the scheduler: this optimizer has no momentum",
)
say(
    r"Expected (\d+) (lr_lambdas|lmbda|values)\w*, but got (\d+)",
    "give one function, or one for each of the optimizer's {1} groups",
)
say(
    r"Expected (?:number of milestones|milestones) .*|expects? .*milestones.*",
    "give one milestone less than there are schedulers: each says where the next one begins",
)
say(
    r"You must define either total_steps OR",
    "pass total_steps=epochs * len(loader), or epochs= and steps_per_epoch=len(loader)",
)
say(
    r"param 'initial_lr' is not specified",
    "leave last_epoch=-1 away, or load the optimizer's state first: it holds initial_lr",
)
say(
    r"Expected optimizer to be the same|expects all schedulers to belong to the same optimizer",
    "make all schedulers with one optimizer",
)
say(r"Nesterov momentum requires", "pass momentum=0.9, say, and dampening=0 with nesterov=True")
say(
    r"does not support sparse gradients",
    "use SparseAdam or SGD for embeddings with sparse=True, or make them with sparse=False",
)
say(
    r"Closure must not be None|closure",
    "give step() a function that computes the loss, calls backward() and returns the loss",
)
say(
    r"unscale_\(\) has already been called|unscale_\(\) is being called after step|step\(\) has already been called "
    r"since",
    "in each step: scaler.scale(loss).backward(), once unscale_(optimizer) where gradients are clipped, "
    "scaler.step(optimizer), and "
    "scaler.update() at the end",
)
say(
    r"No inf checks were recorded|optimizer\.step\(\) .*unscale",
    "call scaler.scale(loss).backward() before step(): no gradient of this optimizer has been scaled",
)
say(r"Expected `device_type` of type `str`", 'name the device first: torch.autocast("cpu", dtype=torch.bfloat16)')
say(r"unsupported autocast device_type|User specified an unsupported autocast", 'devices are named "cpu", "cuda" ...')
@hint(r"'n' \(position 1\) must be int, not float|invalid combination of arguments - got \(float, generator")
def parts_of_a_split(_: re.Match[str], context: Context) -> str | None:
    """Numbers of samples that came as floats: `random_split(data, [0.8 * n, 0.2 * n])`."""
    if context.call.name != "random_split":
        return None
    lengths = context.argument("lengths")
    if not isinstance(lengths, (list, tuple)) or not lengths:
        return None
    total = sum(lengths)
    parts = ", ".join(f"{x / total:.3g}" for x in lengths) if total else ""
    return (f"lengths are numbers of samples, as ints that add up to len(dataset), or fractions that add up to 1: "
            f"[{parts}], and {list(lengths)} came")


say(
    r"Input arguments must all be instances of Number",
    "numbers and tensors are parameters of a distribution: torch.tensor(...) makes one of a list or an array",
)
say(
    r"The value argument to log_prob must be a Tensor",
    "make a tensor of the value: torch.tensor(value)",
)
say(
    r"[Ee]xpected (?:a )?sparse (?:compressed )?(?:tensor|layout)|expected a sparse tensor|"
    r"sparse csr layout, but got Strided",
    "a dense tensor came: x.to_sparse() makes it sparse, x.to_sparse_csr() in compressed rows",
)
say(
    r"Cannot convert (?:int|float|bool) to Tensor",
    "a number cannot be changed in place: make a tensor of it first, torch.tensor(x), or take the function without _",
)
say(
    r"(\w+)\(\): argument 'memory_format' .* must be",
    "{1}() takes no tensor and no number: x.{1}() casts x, and x.to(y.dtype) takes another tensor's dtype",
)
say(
    r"stft\(.*expected a 1D window tensor of size equal to win_length=(\d+), but got window with size \[(\d+)\]",
    "the window has as many elements as win_length, which is n_fft if it is left out: torch.hann_window({1}), or "
    "n_fft={2}",
)
say(
    r"stft requires the return_complex parameter",
    "pass return_complex=True; torch.view_as_real(spec) gives pairs of real numbers",
)
say(
    r"Jacobian mismatch for output (\d+) with respect to input (\d+)",
    "differences of float32 are too coarse: give it inputs of float64, x.double().requires_grad_(), and if it fails "
    "then, the derivative of output {1} for input {2} is wrong",
)
say(
    r"Expected all elements of parameter_and_buffer_dicts to be dictionaries",
    "parameters go by their names: dict(model.named_parameters()) in place of a list of tensors",
)
say(
    r"Got unsupported ScalarType BFloat16",
    "NumPy has no bfloat16: call .float() before .numpy()",
)
say(
    r"Attempted (?:step|unscale_|update) but _(?:scale|growth_tracker) is None",
    "the loss was not scaled: scaler.scale(loss).backward() in place of loss.backward(), before scaler.step(optimizer)",
)
say(
    r"Attempting to unscale FP16|unscale .*FP16",
    "keep the parameters in float32, and let autocast choose half where it helps: no model.half() with a GradScaler",
)
say(
    r"assigned grad expected to be a Tensor or None but got grad of type (\w+)",
    "make a tensor of it: torch.tensor(grad), of the shape and dtype of the parameter; or None",
)
say(
    r"assigned grad has data of a different (size|type)|assigned grad.* different",
    "give .grad a tensor of the same shape, dtype and device, or None",
)
say(
    r"cannot be called on meta tensors",
    "a tensor on the meta device has a shape but no values: make the model on "
    "the cpu, or call "
    'model.to_empty(device="cpu") and load its state',
)
say(
    r"Value is not broadcastable with batch_shape\+event_shape: (.*) vs (.*)\.",
    "the value must have the shape of "
    "the distribution, or one "
    "that broadcasts to it: batch dimensions come first, equal or 1",
)
@hint(r"(?s)to satisfy the constraint .*found invalid values:.*\bnan\b")
def parameters_of_nan(_: re.Match[str], context: Context) -> str:
    found = among(context, lambda x: x != x)
    return ("the values are NaN, so they were spoilt before: with claygrad.debug.trace_nans(): around the program "
            "stops at the operation that made the first one" + (f"; {found} already" if found else ""))


say(
    r"(?:covariance|precision)_matrix \(Tensor of shape \((?:\d+, )*(\d+), (?!\1\))\d+\)\)"
    r".*constraint PositiveDefinite",
    "a covariance is a square matrix: of one deviation for each dimension torch.diag_embed(std ** 2) makes it, and "
    "Independent(Normal(loc, std), 1) is the same distribution",
)
say(
    r"satisfy the constraint (?:PositiveDefinite|.*[Pp]ositive_definite)",
    "a covariance is symmetric with eigenvalues above 0: a @ a.mT + 1e-4 * torch.eye(n) is, or give scale_tril=",
)
say(
    r"satisfy the constraint (?:LowerCholesky|CorrCholesky|lower_cholesky)",
    "it is lower triangular with a diagonal above 0: torch.linalg.cholesky(covariance)",
)
say(
    r"satisfy the constraint Simplex",
    "probabilities are 0 or more and add up to 1: softmax(scores, -1), or pass logits=scores",
)
say(
    r"Either `(\w+)` or `(\w+)` must be specified, but not both",
    "pass one of them: {1}=, or {2}= for scores that were not normalised",
)
say(
    r"Unsupported nonlinearity",
    "it knows linear, sigmoid, tanh, relu, leaky_relu, selu and conv layers by name: "
    "for swish, SiLU and "
    "GELU take 'relu'",
)
say(r"[Mm]ode .*not supported, please use one of|Mode .*(fan_in|fan_out)", "mode is 'fan_in' or 'fan_out'")
say(
    r"expected (?:torch|claygrad)\.Tensor, but got: (\w+)",
    "make a tensor of it: torch.tensor(...), or nn.utils.parameters_to_vector(model.parameters())",
)
say(r"vector_to_parameters|The size of .*vector", "the vector must have as many elements as all parameters together")


@hint(r"^$")
def no_text(_: re.Match[str], context: Context) -> str | None:
    """`raise NotImplementedError`, as PyTorch's distributions do."""
    name = context.call.name.rpartition(".")[2]
    if context.kind is not NotImplementedError or not name:
        return None
    owner = context.call.args[0] if context.call.args else None
    kind = type(owner).__name__ if owner is not None else "the class"
    if name == "rsample":
        return (
            f"a sample of {kind} has no gradient (has_rsample is False): take sample() and log_prob(), or a relaxed "
            f"distribution, "
            "torch.nn.functional.gumbel_softmax for one"
        )
    if hasattr(owner, "log_prob"):
        return f"{kind} has no {name}: estimate it from samples, sample((1000,)), or take a distribution that has one"
    return f"define {name} in {kind}"


# data

say(
    r"Subclasses of Dataset should implement __getitem__",
    "define def __getitem__(self, index) in the dataset: it returns one sample, and __len__ how many there are",
)


@hint(r"Caught \w+ in DataLoader worker process \d+")
def worker(_: re.Match[str], context: Context) -> str | None:
    return (
        "the error is the last one above, from your dataset or collate_fn: num_workers=0 runs it here, where a "
        "debugger can stop"
    )


say(
    r"DataLoader worker \(pid.* (killed|exited unexpectedly)|DataLoader worker \(pid\(s\)",
    "a worker was killed, "
    "mostly for want of memory: take "
    "fewer num_workers or a smaller batch_size; num_workers=0 shows an error of the dataset itself",
)
say(
    r"Trying to resize storage that is not resizable",
    "samples of a batch must have one shape: pad them, or give the DataLoader a collate_fn (nn.utils.rnn.pad_sequence)",
)
say(r"sampler option is mutually exclusive with shuffle", "leave shuffle=True away: the sampler says the order")
say(r"DataLoader timed out", "samples take longer than timeout=: raise it, or look where the dataset waits")
say(r"__len__\(\) should return >= 0", "__len__ is the number of samples, 0 or more")


# files


@hint(r"Weights only load failed")
def weights_only(_: re.Match[str], context: Context) -> str | None:
    found = re.search(r"GLOBAL (\S+)", context.head)
    if found is not None:
        name = found[1]
        what = (
            "is no tensor, number, string or container of them"
            if not name.startswith(("numpy", "builtins", "collections"))
            else "holds more than tensors"
        )
        return (
            f"the file holds an object of {name}: it {what}. torch.load(path, weights_only=False) reads it, and "
            f"runs code from the file: only "
            "where you trust whoever made it. Better save state only: model.state_dict(), and settings as a dict of "
            "numbers and strings, vars(config)"
        )
    return (
        "the file was not made by torch.save, is not complete, or holds more than tensors: look at its first "
        "bytes; weights_only=False reads "
        "pickles, and runs code from the file, so only where you trust whoever made it"
    )


say(r"Parent directory (.*) does not exist", "make the folder first: os.makedirs('{1}', exist_ok=True)")


@hint(r"expected 'f' to be string, path, or a file-like object with a '(write|read)' attribute")
def swapped(match: re.Match[str], context: Context) -> str | None:
    node = context.line.expression
    names = [ast.unparse(x) for x in node.args] if isinstance(node, ast.Call) else []
    if match[1] == "write" and len(names) == 2:
        return f"the object comes first, then the file: torch.save({names[1]}, {names[0]})"
    return "give it a path, or a file that is open in binary mode: open(path, 'rb')"


@hint(r"Expected state_dict to be dict-like, got <class '(.+)'>")
def no_state(match: re.Match[str], context: Context) -> str | None:
    given = context.call.args[1] if len(context.call.args) > 1 else None
    name = context.name(1, "")
    if callable(given) and name.endswith("state_dict"):
        return f"{name} is a method: call it, {name}()"
    if hasattr(given, "state_dict"):
        return f"give it the state of the model: {context.name(1, 'other')}.state_dict()"
    return None


say(
    r"invalid load key|Ran out of input|unexpected EOF|pickle data was truncated",
    "the file is not complete, or was not made by torch.save",
)
