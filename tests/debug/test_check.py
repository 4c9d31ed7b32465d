"""`debug.check()` names each mistake with its line and the way out, and finds nothing in a right step."""

from __future__ import annotations

import pytest

import claygrad as torch
from claygrad import debug, nn

F = nn.functional


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def regression():
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))


def stepping(model, loss, optimizer=None, zero=True):
    """A step as programs write it."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.01)

    def step():
        if zero:
            optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
    return step


def only(report) -> object:
    assert len(report) == 1, str(report)
    return report.findings[0]


x, y = torch.randn(32, 4), torch.randn(32)
classes = torch.randint(0, 3, (32,))


# --- the loss

@pytest.mark.parametrize("loss", [
    lambda model: F.mse_loss(model(x), y),
    lambda model: F.l1_loss(model(x), y),
    lambda model: nn.MSELoss()(model(x), y),
    lambda model: nn.SmoothL1Loss()(y, model(x)),
    lambda model: (model(x) - y).pow(2).mean(),
    lambda model: ((y - model(x)) ** 2).sum(),
    lambda model: (model(x).clone() - y).abs().mean(),
    lambda model: F.mse_loss(model(x).flatten(), y[:, None]),
])
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_a_loss_that_broadcasts(loss):
    model = regression()
    found = only(debug.check(model, stepping(model, lambda: loss(model))))
    assert found.rule == "loss broadcasts"
    assert "(32, 32)" in found.text
    assert found.where.file == __file__
    assert "squeeze" in found.way_out


@pytest.mark.parametrize("loss", [
    lambda model: F.mse_loss(model(x).squeeze(1), y),
    lambda model: (model(x)[:, 0] - y).pow(2).mean(),
    lambda model: (model(x) - y[:, None]).pow(2).mean(),
    lambda model: (model(x) - model(x).mean()).pow(2).mean(),
    lambda model: (model(x)[:1] - y[:1]).pow(2).mean(),
    lambda model: (model(x) - model(x).flatten()).pow(2).mean(),      # all pairs, and meant so: both are predictions
    lambda model: (x[:, :1] - y).mean() + model(x).mean(),            # no prediction is in it
])
def test_a_loss_that_does_not(loss):
    model = regression()
    assert len(debug.check(model, stepping(model, lambda: loss(model)))) == 0


@pytest.mark.parametrize(("last", "loss", "rule"), [
    (nn.Softmax(-1), F.cross_entropy, "softmax before cross-entropy"),
    (nn.Softmax(1), nn.CrossEntropyLoss(), "softmax before cross-entropy"),
    (nn.LogSoftmax(1), nn.CrossEntropyLoss(), "log_softmax before cross-entropy"),
    (nn.Softmax(1), nn.NLLLoss(), "probabilities in nll_loss"),
    (nn.Identity(), nn.NLLLoss(), "logits in nll_loss"),
    (nn.LogSoftmax(0), nn.NLLLoss(), "log_softmax over another dimension"),
    (nn.Softmax(1), lambda out, target: F.kl_div(out, F.one_hot(target, 3).float()), "probabilities in kl_div"),
    (nn.LogSoftmax(1), lambda out, target: F.kl_div(out, (out.detach() * 2).log_softmax(1)), "log-probabilities in kl_div"),
    (nn.Sigmoid(), lambda out, target: F.binary_cross_entropy_with_logits(out, F.one_hot(target, 3).float()),
     "sigmoid before a loss with logits"),
    (nn.Sigmoid(), lambda out, target: nn.BCEWithLogitsLoss()(out.reshape(-1), F.one_hot(target, 3).float().flatten()),
     "sigmoid before a loss with logits"),
])
def test_losses_that_want_something_else(last, loss, rule):
    model = nn.Sequential(nn.Linear(4, 3), last)
    found = only(debug.check(model, stepping(model, lambda: loss(model(x * 3), classes))))
    assert found.rule == rule
    assert found.where.file == __file__


@pytest.mark.parametrize(("last", "loss"), [
    (nn.Identity(), F.cross_entropy),
    (nn.LogSoftmax(1), nn.NLLLoss()),
    (nn.Softmax(1), lambda out, target: F.nll_loss(out.log(), target)),
    (nn.LogSoftmax(0), lambda out, target: F.nll_loss(out.t().reshape(3, -1).t(), target)),      # another one by then
    (nn.LogSoftmax(1), lambda out, target: F.kl_div(out, F.one_hot(target, 3).float())),
    (nn.LogSoftmax(1), lambda out, target: F.kl_div(out, (out.detach() * 2).log_softmax(1), log_target=True)),
    (nn.Softmax(0), F.cross_entropy),                                # over the batch: no normalized classes
    (nn.Sigmoid(), lambda out, target: F.binary_cross_entropy(out, F.one_hot(target, 3).float())),
    (nn.Identity(), lambda out, target: F.binary_cross_entropy_with_logits(out, F.one_hot(target, 3).float())),
    (nn.Softmax(1), lambda out, target: F.mse_loss(out, F.one_hot(target, 3).float())),
])
def test_losses_that_get_what_they_want(last, loss):
    model = nn.Sequential(nn.Linear(4, 3), last)
    assert len(debug.check(model, stepping(model, lambda: loss(model(x), classes)))) == 0


@pytest.mark.parametrize("cut", [
    lambda out: out.detach(), lambda out: out.data, lambda out: torch.tensor(out.tolist()), lambda out: (out > 0).float(),
])
def test_a_loss_that_is_cut(cut):
    model = regression()
    found = only(debug.check(model, stepping(model, lambda: F.mse_loss(cut(model(x)).flatten(), y))))
    assert found.rule == "loss is cut from the graph"


def test_a_loss_that_is_cut_but_still_has_a_gradient():
    model, scale = regression(), torch.ones(1, requires_grad=True)

    def loss():
        out = model(x).detach()                                      # cut here
        return (out.flatten() * scale - y).square().mean()

    found = only(debug.check(model, stepping(model, loss)))
    assert found.rule == "loss is cut from the graph"
    assert found.where.source == "out = model(x).detach()                                      # cut here"


def test_other_errors_of_the_step_are_the_programs():
    model = regression()
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        debug.check(model, stepping(model, lambda: model(torch.ones(3, 5)).sum()))
    assert not torch.overrides._get_current_function_mode_stack() if hasattr(
        torch.overrides, "_get_current_function_mode_stack") else True
    assert len(debug.check(model, stepping(model, lambda: F.mse_loss(model(x).flatten(), y)))) == 0


# --- gradients and optimizers

class Parts(nn.Module):
    def __init__(self):
        super().__init__()
        self.used = nn.Linear(4, 1)
        self.idle = nn.Linear(4, 1)                                  # idle
        self.dropout = nn.Dropout(0.5)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.used(x)


def test_modules_and_parameters_that_are_not_used():
    model = Parts()
    report = debug.check(model, stepping(model, lambda: model(x).square().mean()))
    rules = {(one.rule, one.text.split("`")[1]) for one in report}
    assert rules == {("unused module", "model.idle"), ("unused module", "model.dropout"), ("no gradient", "model.scale")}
    idle = next(one for one in report if "idle" in one.text)
    assert idle.where.source.startswith("self.idle = nn.Linear(4, 1)")


def test_a_part_behind_a_detach():
    class Cut(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 1)

        def forward(self, x):
            return self.b(self.a(x).detach())

    model = Cut()
    found = only(debug.check(model, stepping(model, lambda: model(x).square().mean())))
    assert found.rule == "no gradient"
    assert "`model.a.weight` and 1 other" in found.text
    assert found.where.source == "return self.b(self.a(x).detach())"


def test_parameters_used_without_their_module_and_frozen_ones():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head, self.frozen = nn.Embedding(10, 4), nn.Linear(4, 10, bias=False), nn.Linear(4, 4)
            self.head.weight = self.embed.weight
            self.layers = nn.ModuleList([nn.Linear(4, 4)])
            self.frozen.requires_grad_(False)

        def forward(self, i):
            h = self.embed(i)
            for layer in self.layers:
                h = layer(self.frozen(h))
            return F.linear(h, self.head.weight)

    model = Tied()
    step = stepping(model, lambda: F.cross_entropy(model(torch.arange(10)), torch.arange(10)))
    assert len(debug.check(model, step)) == 0


def test_an_optimizer_that_misses_parameters():
    model = regression()
    loss = lambda: F.mse_loss(model(x).flatten(), y)
    found = only(debug.check(model, stepping(model, loss, torch.optim.SGD(model[0].parameters(), lr=0.1))))
    assert found.rule == "optimizer misses parameters"
    assert "`model.2.weight` and 1 other" in found.text
    found = only(debug.check(model, stepping(model, loss, torch.optim.SGD(regression().parameters(), lr=0.1))))
    assert found.rule == "optimizer has other parameters"


def test_a_forgotten_zero_grad():
    model = regression()
    found = only(debug.check(model, stepping(model, lambda: F.mse_loss(model(x).flatten(), y), zero=False)))
    assert found.rule == "gradients are not cleared"
    assert found.where.source == "value.backward()"
    # also where gradients are there already
    found = only(debug.check(model, stepping(model, lambda: F.mse_loss(model(x).flatten(), y), zero=False)))
    assert found.rule == "gradients are not cleared"


def cleared_by_hand(model, optimizer):
    for p in model.parameters():
        p.grad = None
    F.mse_loss(model(x).flatten(), y).backward()
    optimizer.step()


def cleared_after(model, optimizer):
    F.mse_loss(model(x).flatten(), y).backward()
    optimizer.step()
    model.zero_grad()


def set_to_zero(model, optimizer):
    optimizer.zero_grad(set_to_none=False)
    F.mse_loss(model(x).flatten(), y).backward()
    optimizer.step()


def in_parts(model, optimizer):
    optimizer.zero_grad()
    for part in range(4):
        (F.mse_loss(model(x[part::4]).flatten(), y[part::4]) / 4).backward()
    optimizer.step()


def with_a_closure(model, optimizer):
    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x).flatten(), y)
        loss.backward()
        return loss
    optimizer.step(closure)


def by_hand(model, optimizer):
    gradients = torch.autograd.grad(F.mse_loss(model(x).flatten(), y), list(model.parameters()))
    with torch.no_grad():
        for p, g in zip(model.parameters(), gradients):
            p -= 0.1 * g


def judged(model, optimizer):
    """As a discriminator is: another loss leaves gradients behind, which are cleared before they are used."""
    model.zero_grad()
    F.mse_loss(model(x).flatten(), y).backward()
    optimizer.step()
    model(x * 2).mean().backward()


def evaluated_too(model, optimizer):
    model.train()
    optimizer.zero_grad()
    F.mse_loss(model(x).flatten(), y).backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        model(x).argmax()


def clipped_and_scheduled(model, optimizer):
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step)      # a rate of 0 at first
    optimizer.zero_grad()
    F.mse_loss(model(x).flatten(), y).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()


@pytest.mark.parametrize("body", [cleared_by_hand, cleared_after, set_to_zero, in_parts, with_a_closure, by_hand, judged, evaluated_too,
                                  clipped_and_scheduled], ids=lambda body: body.__name__)
@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.LBFGS])
def test_right_ways_to_step(body, kind):
    if kind is torch.optim.LBFGS and body is not with_a_closure:
        return
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))
    optimizer = kind(model.parameters(), lr=0.01)
    assert str(debug.check(model, lambda: body(model, optimizer))) == "nothing wrong was found"


# --- modes, units, graphs

def test_evaluation_mode_in_a_training_step():
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.1), nn.Linear(8, 1)).eval()
    found = only(debug.check(model, stepping(model, lambda: F.mse_loss(model(x).flatten(), y))))
    assert found.rule == "evaluation mode"
    assert "model.train()" in found.way_out
    model.train()
    model[1].eval()                                                  # statistics that stay as they are, on purpose
    assert len(debug.check(model, stepping(model, lambda: F.mse_loss(model(x).flatten(), y)))) == 0


def test_dead_units():
    model = regression()
    with torch.no_grad():
        model[0].bias.fill_(-100)
    report = debug.check(model, stepping(model, lambda: F.mse_loss(model(x).flatten(), y)))
    found = only(report)
    assert found.rule == "dead units"
    assert found.text.startswith("16 of 16 units of `model[1]`")
    image = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(1))
    image(torch.randn(4, 1, 8, 8))
    with torch.no_grad():
        image[0].bias.fill_(-100)
    found = only(debug.check(image, stepping(image, lambda: image(torch.randn(4, 1, 8, 8)).square().mean())))
    assert "6 of 6 units" in found.text


@pytest.mark.parametrize(("keep", "way_out"), [("total", "use `total = total + loss.item()`"), ("list", "use `kept.append(loss.item())`")])
def test_a_graph_that_is_kept(keep, way_out):
    model = regression()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total, kept = 0, []

    def step():
        nonlocal total
        optimizer.zero_grad()
        loss = F.mse_loss(model(x).flatten(), y)
        loss.backward()
        optimizer.step()
        if keep == "total":
            total = total + loss
        else:
            kept.append(loss)

    found = only(debug.check(model, step))
    assert found.rule == "graph kept between steps"
    assert found.way_out == way_out


def test_a_loss_that_stays_until_the_next_is_no_leak():
    model = regression()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    last = None

    def step():
        nonlocal last
        optimizer.zero_grad()
        last = F.mse_loss(model(x).flatten(), y)
        last.backward()
        optimizer.step()
        return last

    assert len(debug.check(model, step)) == 0
    assert last is not None


def test_steps_that_do_too_little():
    model = regression()
    assert only(debug.check(model, lambda: model(x).sum())).rule == "no backward"
    assert only(debug.check(model, lambda: model(x).sum().backward())).rule == "no optimizer step"
    frozen = regression().requires_grad_(False)
    assert only(debug.check(frozen, lambda: frozen(x).sum())).rule == "nothing to train"
    other = regression()
    assert only(debug.check(model, stepping(other, lambda: other(x).square().sum()))).rule == "model was not called"
    with pytest.raises(TypeError, match="a function without arguments"):
        debug.check(model, model(x))
    with pytest.raises(TypeError, match="takes a module"):
        debug.check(lambda: None, lambda: None)


def test_the_same_numbers_as_without():
    def trained(run):
        torch.manual_seed(3)
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(model.parameters())
        step = stepping(model, lambda: F.mse_loss(model(x).flatten(), y), optimizer)
        run(model, step)
        return [p.detach().clone() for p in model.parameters()]

    plain = trained(lambda model, step: step())
    checked = trained(debug.check)
    assert all(a.equal(b) for a, b in zip(plain, checked, strict=True))


# --- gradients that nobody uses, layers that nobody trains

def test_gradients_that_are_cleared_before_they_are_used():
    model = regression()
    optimizer = torch.optim.Adam(model.parameters())

    def between():
        F.mse_loss(model(x).flatten(), y).backward()
        optimizer.zero_grad()
        optimizer.step()

    def without_step():
        optimizer.zero_grad()
        F.mse_loss(model(x).flatten(), y).backward()

    for step in (between, without_step):
        found = only(debug.check(model, step))
        assert found.rule == "gradients are cleared before they are used"
        assert found.where.source == "optimizer.zero_grad()"


def test_gradients_of_several_batches_and_of_two_losses_are_used():
    model, critic = regression(), nn.Linear(1, 1)
    both = [torch.optim.SGD(part.parameters(), lr=0.1) for part in (model, critic)]

    def accumulated():
        both[0].zero_grad()
        for part in x.split(8):
            model(part).square().mean().backward()
        both[0].step()

    def adversarial():
        for part, optimizer in zip((critic, model), both, strict=True):
            optimizer.zero_grad()
            critic(model(x) if part is model else model(x).detach()).mean().backward()
            optimizer.step()

    assert not debug.check(model, accumulated)
    assert not debug.check(critic, adversarial)


def test_softmax_over_one_unit():
    class Pooling(nn.Module):
        def __init__(self):
            super().__init__()
            self.score, self.out = nn.Linear(4, 1), nn.Linear(4, 2)

        def forward(self, x):
            return self.out((self.score(x).softmax(-1) * x).sum(1))

    model, steps = Pooling(), torch.randn(8, 5, 4)
    found = only(debug.check(model, stepping(model, lambda: F.cross_entropy(model(steps), classes[:8] % 2))))
    assert found.rule == "softmax over one unit"
    model.forward = lambda x: model.out((model.score(x).softmax(1) * x).sum(1))      # over the steps, as it should be
    assert not debug.check(model, stepping(model, lambda: F.cross_entropy(model(steps), classes[:8] % 2)))


def test_a_layer_that_forward_makes():
    class Anew(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(4, 4)

        def forward(self, x):
            return nn.Linear(4, 3)(self.first(x))

    model = Anew()
    found = only(debug.check(model, stepping(model, lambda: F.cross_entropy(model(x), classes))))
    assert found.rule == "layer outside of the model"
    assert "nn.Linear(4, 3)(self.first(x))" in str(found.where)


def test_experts_that_the_data_does_not_choose():
    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.experts = nn.ModuleList(nn.Linear(4, 3) for _ in range(4))

        def forward(self, x):
            return self.experts[1](x) + self.experts[3](x)

    model = Experts()
    assert not debug.check(model, stepping(model, lambda: F.cross_entropy(model(x), classes)))
