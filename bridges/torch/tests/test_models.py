"""Whole networks train as on PyTorch's CPU, which is forbidden meanwhile."""

import models
import pytest
import torch


@pytest.mark.parametrize("name", ["resnet18", "bert", "gpt", "lstm", "gru"])
def test_three_steps_are_those_of_the_cpu(name, device, strict):
    expected, _ = models.train(name, "cpu")
    losses, _ = models.train(name, device)
    assert losses == pytest.approx(expected, abs=1e-5 if name != "resnet18" else 1e-4)


@pytest.mark.parametrize("make", [torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad])
def test_optimizers_step_as_on_the_cpu(make, strict):
    expected, _ = models.train("gpt", "cpu", optimizer=lambda parameters: make(parameters, 1e-3))
    losses, _ = models.train("gpt", "backplane:0", optimizer=lambda parameters: make(parameters, 1e-3))
    assert losses == pytest.approx(expected, abs=1e-5)


def test_moving_keeps_tied_layers_and_optimizers(device, strict):
    """The steps before, on and after the device are those of a network that stays on the CPU."""

    def run(places):
        network, tokens, target = models.problem("gpt")
        network.head = torch.nn.Linear(32, 50, bias=False)
        network.head.weight = network.words.weight
        stepper, losses = torch.optim.SGD(network.parameters(), 0.1, momentum=0.0), []
        for place in places:
            network.to(place)
            assert network.head.weight is network.words.weight and network.head.weight.device.type == torch.device(place).type
            loss = torch.nn.functional.cross_entropy(network.head(network.words(tokens.to(place))).flatten(0, 1), target.to(place))
            loss.backward()
            stepper.step()
            losses.append(loss.item())
        return losses

    assert run(["cpu", device, "cpu"]) == pytest.approx(run(["cpu"] * 3), rel=1e-6)


def test_generation_gives_the_same_words(strict):
    network, tokens, _ = models.problem("gpt")
    expected = network.generate(tokens[:, :4], 8)
    assert network.to("backplane").generate(tokens[:, :4].to("backplane"), 8).cpu().tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_trains(dtype, strict):
    network, inputs, target = (part.to("backplane") for part in models.problem("gpt"))
    stepper = torch.optim.SGD(network.parameters(), 0.1)
    losses = []
    for _ in range(5):
        stepper.zero_grad()
        with torch.autocast("backplane", dtype):
            result = network(inputs)
            loss = torch.nn.functional.cross_entropy(result, target)
        assert result.dtype == dtype and loss.dtype == torch.float32
        loss.backward()
        stepper.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("training", [True, False])
def test_autocast_normalizes_over_the_batch(dtype, training, device, strict):
    """16-bit images, and parameters and statistics in float32: PyTorch casts neither."""

    def run(place):
        torch.manual_seed(0)
        layer, images = torch.nn.BatchNorm2d(3).train(training), torch.randn(4, 3, 5, 5)
        layer.running_mean.uniform_()
        layer, images = layer.to(place), images.to(place, dtype).requires_grad_()
        with torch.autocast(torch.device(place).type, dtype):
            result = layer(images)
        result.square().sum().backward()
        return [result, layer.running_mean, layer.running_var, images.grad, layer.weight.grad, layer.bias.grad]

    for found, expected in zip(run(device), run("cpu"), strict=True):
        torch.testing.assert_close(found.detach().cpu(), expected.detach(), atol=0.05, rtol=0.02)


def test_aot_eager_compiles(strict):
    network, inputs, _ = (part.to("backplane") for part in models.problem("gpt"))
    compiled = torch.compile(network, backend="aot_eager")
    torch.testing.assert_close(compiled(inputs).cpu(), network(inputs).cpu())
