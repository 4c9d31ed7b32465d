"""The same work in JAX, for workloads that are long in NumPy: derivatives, layers, training steps, models.

A training step is compiled as a whole, with its optimizer, and reuses the buffers of the old parameters (donation).
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from others import compiled, normal, vjp
from workloads import twin


def numbers(high: int, *shape: int) -> object:
    import numpy as np
    return np.random.default_rng(1).integers(0, high, shape, np.int32)


def dense(inputs: int, outputs: int) -> dict:
    w, = normal((inputs, outputs))
    return {"w": w / inputs ** 0.5, "b": normal((outputs,))[0] * 0}


def linear(layer: dict, x: object) -> object:
    return x @ layer["w"] + layer["b"]


def cross_entropy_of(jax: ModuleType, scores: object, labels: object) -> object:
    logs = jax.nn.log_softmax(scores, -1)
    return -jax.numpy.take_along_axis(logs, labels[..., None], -1).mean()


def trained(jax: ModuleType, parameters: object, loss: Callable, *, adam: bool = True, decay: float = 0.0,
            rate: float = 1e-3) -> Callable[[], object]:
    """A training step on `loss(parameters, key)`, with Adam (or AdamW) or plain descent."""
    np, each = jax.numpy, jax.tree.map

    def descend(state: tuple) -> tuple:
        p, m, v, step, key = state
        key, noise = jax.random.split(key)
        g = jax.grad(loss)(p, noise)
        step = step + 1
        if not adam:
            return each(lambda p, g: p - rate * g, p, g), m, v, step, key
        m = each(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = each(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        scale, root = rate / (1 - 0.9 ** step), np.sqrt(1 - 0.999 ** step)
        p = each(lambda p, m, v: p * (1 - rate * decay) - scale * m / (np.sqrt(v) / root + 1e-8), p, m, v)
        return p, m, v, step, key

    p = each(np.asarray, parameters)
    zeros = [each(np.zeros_like, p) if adam else () for _ in range(2)]
    held = [(p, *zeros, np.float32(0), jax.random.key(0))]
    step = jax.jit(descend, donate_argnums=0)

    def run() -> None:
        held[0] = jax.block_until_ready(step(held[0]))
    return run


# Derivatives of small things.

@twin
def jax_tiny_backward(jax: ModuleType) -> Callable[[], object]:
    return compiled(jax, jax.value_and_grad(lambda w, b: (w * b).sum()), normal((10,), (10,)))


@twin
def jax_long_chain(jax: ModuleType) -> Callable[[], object]:
    def chain(w: object, b: object) -> object:
        for _ in range(100):
            w = w * b
        return w.sum()
    return compiled(jax, jax.value_and_grad(chain), normal((10,), (10,)))


@twin
def jax_double_backward(jax: ModuleType) -> Callable[[], object]:
    first = jax.grad(lambda w: (w ** 3).sum())
    return compiled(jax, jax.grad(lambda w: first(w).sum()), normal((10,)))


@twin
def jax_mlp(jax: ModuleType) -> Callable[[], object]:
    x, labels = jax.numpy.asarray(normal((32, 64))[0]), numbers(10, 32)

    def loss(w1: object, b1: object, w2: object, b2: object) -> object:
        return cross_entropy_of(jax, jax.nn.relu(x @ w1 + b1) @ w2 + b2, labels)
    return compiled(jax, jax.value_and_grad(loss, (0, 1, 2, 3)), normal((64, 64), (64,), (64, 10), (10,)))


# Layers, forward and backward.

@twin
def jax_cross_entropy(jax: ModuleType) -> Callable[[], object]:
    labels = numbers(5000, 1024)
    return compiled(jax, jax.value_and_grad(lambda x: cross_entropy_of(jax, x, labels)), normal((1024, 5000)))


@twin
def jax_layer_norm(jax: ModuleType) -> Callable[[], object]:
    return compiled(jax, vjp(jax, lambda x, w, b: normalised(jax, x) * w + b),
                    normal((1000, 1000), (1000, 1000), (1000,), (1000,)))


def normalised(jax: ModuleType, x: object, axes: tuple[int, ...] = (-1,)) -> object:
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(var + 1e-5)


@twin
def jax_batch_norm(jax: ModuleType) -> Callable[[], object]:
    return compiled(jax, vjp(jax, lambda x, w, b: normalised(jax, x, (0, 2, 3)) * w + b),
                    normal((32, 64, 28, 28), (32, 64, 28, 28), (1, 64, 1, 1), (1, 64, 1, 1)))


@twin
def jax_embedding(jax: ModuleType) -> Callable[[], object]:
    index = numbers(10_000, 64, 64)
    return compiled(jax, vjp(jax, lambda w: w[index]), normal((64, 64, 128), (10_000, 128)))


def pooled(jax: ModuleType, x: object) -> object:
    return jax.lax.reduce_window(x, -jax.numpy.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


@twin
def jax_max_pool(jax: ModuleType) -> Callable[[], object]:
    return compiled(jax, vjp(jax, lambda x: pooled(jax, x)), normal((32, 64, 14, 14), (32, 64, 28, 28)))


def attended(jax: ModuleType, q: object, k: object, v: object) -> object:
    np = jax.numpy
    scores = q @ np.swapaxes(k, -1, -2) / q.shape[-1] ** 0.5
    causal = np.tril(np.ones(scores.shape[-2:], bool))
    return jax.nn.softmax(np.where(causal, scores, -np.inf), -1) @ v


@twin
def jax_attention(jax: ModuleType) -> Callable[[], object]:
    return compiled(jax, vjp(jax, lambda q, k, v: attended(jax, q, k, v)), normal(*[(4, 4, 256, 32)] * 4))


def convolved(jax: ModuleType, x: object, w: object, groups: int = 1) -> object:
    return jax.lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1)), feature_group_count=groups)


@twin
def jax_conv(jax: ModuleType) -> Callable[[], object]:
    return compiled(jax, vjp(jax, lambda x, w: convolved(jax, x, w)),
                    normal((16, 64, 28, 28), (16, 32, 28, 28), (64, 32, 3, 3)))


@twin
def jax_depthwise(jax: ModuleType) -> Callable[[], object]:
    return compiled(jax, vjp(jax, lambda x, w: convolved(jax, x, w, 32)),
                    normal((16, 32, 28, 28), (16, 32, 28, 28), (32, 1, 3, 3)))


# Training steps.

@twin
def jax_mlp_sgd(jax: ModuleType) -> Callable[[], object]:
    x, y = jax.numpy.asarray(normal((32, 64))[0]), numbers(10, 32)
    layers = [dense(64, 64), dense(64, 10)]
    return trained(jax, layers, lambda p, _: cross_entropy_of(jax, linear(p[1], jax.nn.relu(linear(p[0], x))), y),
                   adam=False, rate=0.01)


def tanh_net(jax: ModuleType, layers: list, x: object) -> object:
    for layer in layers[:-1]:
        x = jax.numpy.tanh(linear(layer, x))
    return linear(layers[-1], x)


@twin
def jax_mlp_adam(jax: ModuleType) -> Callable[[], object]:
    x, y = map(jax.numpy.asarray, normal((32, 16), (32, 1)))
    layers = [dense(16, 32), dense(32, 32), dense(32, 1)]
    return trained(jax, layers, lambda p, _: ((tanh_net(jax, p, x) - y) ** 2).mean())


@twin
def jax_policy(jax: ModuleType) -> Callable[[], object]:
    layers = jax.tree.map(jax.numpy.asarray, [dense(4, 64), dense(64, 2)])
    return compiled(jax, lambda x: jax.nn.softmax(tanh_net(jax, layers, x), -1), normal((1, 4)))


@twin
def jax_recurrent(jax: ModuleType) -> Callable[[], object]:
    xs, start = map(jax.numpy.asarray, (normal((20, 4, 8))[0], normal((4, 16))[0] * 0))

    def loss(w: object, u: object) -> object:
        h = start
        for x in xs:
            h = jax.numpy.tanh(x @ w + h @ u)
        return h.sum()
    return compiled(jax, jax.value_and_grad(loss, (0, 1)), [a / 4 for a in normal((8, 16), (16, 16))])


@twin
def jax_pinn(jax: ModuleType) -> Callable[[], object]:
    x = jax.numpy.linspace(0, 1, 64).reshape(-1, 1)

    def loss(layers: list, _: object) -> object:
        def first(x: object) -> object:
            return jax.grad(lambda x: tanh_net(jax, layers, x).sum())(x)
        return ((jax.grad(lambda x: first(x).sum())(x) + tanh_net(jax, layers, x)) ** 2).mean()
    return trained(jax, [dense(1, 32), dense(32, 32), dense(32, 1)], loss)


@twin
def jax_adam_5m(jax: ModuleType) -> Callable[[], object]:
    gradients = list(map(jax.numpy.asarray, normal(*[(1000, 1000)] * 5)))
    return trained(jax, normal(*[(1000, 1000)] * 5), lambda p, _: sum((a * g).sum() for a, g in zip(p, gradients)))


# Models.

@twin
def jax_gpt(jax: ModuleType) -> Callable[[], object]:
    def block() -> dict:
        norms = {name: {"w": normal((128,))[0] * 0 + 1, "b": normal((128,))[0] * 0} for name in ("ln1", "ln2")}
        return {**norms, "qkv": dense(128, 384), "out": dense(128, 128), "up": dense(128, 512), "down": dense(512, 128)}

    def scaled(p: dict, x: object) -> object:
        return normalised(jax, x) * p["w"] + p["b"]

    def loss(p: dict, _: object) -> object:
        x = p["token"][ids[:, :-1]] + p["place"]
        for layer in p["blocks"]:
            parts = jax.numpy.split(linear(layer["qkv"], scaled(layer["ln1"], x)), 3, axis=2)
            y = attended(jax, *(t.reshape(16, 64, 4, 32).swapaxes(1, 2) for t in parts))
            x = x + linear(layer["out"], y.swapaxes(1, 2).reshape(16, 64, 128))
            inner = jax.nn.gelu(linear(layer["up"], scaled(layer["ln2"], x)), approximate=False)
            x = x + linear(layer["down"], inner)
        return cross_entropy_of(jax, linear(p["head"], x), ids[:, 1:])

    ids = numbers(256, 16, 65)
    token, place = normal((256, 128), (64, 128))
    parameters = {"token": token, "place": place, "blocks": [block() for _ in range(4)], "head": dense(128, 256)}
    return trained(jax, parameters, loss, decay=0.01)


@twin
def jax_cnn(jax: ModuleType) -> Callable[[], object]:
    x, y = jax.numpy.asarray(normal((64, 1, 28, 28))[0]), numbers(10, 64)

    def layer(inputs: int, outputs: int) -> dict:
        w, b = normal((outputs, inputs, 3, 3), (1, outputs, 1, 1))
        return {"w": w / (9 * inputs) ** 0.5, "b": b * 0, "scale": b * 0 + 1, "shift": b * 0}

    def loss(p: list, _: object) -> object:
        h = x
        for block in p[:2]:
            h = normalised(jax, convolved(jax, h, block["w"]) + block["b"], (0, 2, 3))
            h = pooled(jax, jax.nn.relu(h * block["scale"] + block["shift"]))
        return cross_entropy_of(jax, linear(p[2], h.reshape(64, -1)), y)
    return trained(jax, [layer(1, 16), layer(16, 32), dense(32 * 49, 10)], loss, decay=0.01)


@twin
def jax_lstm(jax: ModuleType) -> Callable[[], object]:
    x = jax.numpy.asarray(normal((50, 16, 32))[0])

    def loss(p: dict, _: object) -> object:
        def cell(state: tuple, seen: object) -> tuple:
            h, c = state
            i, f, g, o = jax.numpy.split(seen + linear(p["hidden"], h), 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jax.numpy.tanh(g)
            h = jax.nn.sigmoid(o) * jax.numpy.tanh(c)
            return (h, c), h
        start = jax.numpy.zeros((16, 64))
        return (jax.lax.scan(cell, (start, start), linear(p["input"], x))[1] ** 2).mean()
    return trained(jax, {"input": dense(32, 256), "hidden": dense(64, 256)}, loss, decay=0.01)


@twin
def jax_vae(jax: ModuleType) -> Callable[[], object]:
    x = jax.nn.sigmoid(jax.numpy.asarray(normal((64, 784))[0]))

    def loss(p: list, key: object) -> object:
        np = jax.numpy
        mean, log_var = np.split(linear(p[1], jax.nn.relu(linear(p[0], x))), 2, axis=1)
        z = mean + jax.random.normal(key, mean.shape) * np.exp(0.5 * log_var)
        scores = linear(p[3], jax.nn.relu(linear(p[2], z)))
        seen = (jax.nn.softplus(scores) - scores * x).sum()
        return (seen - 0.5 * (1 + log_var - mean ** 2 - np.exp(log_var)).sum()) / 64
    return trained(jax, [dense(784, 256), dense(256, 32), dense(16, 256), dense(256, 784)], loss, decay=0.01)
