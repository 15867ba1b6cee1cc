"""A program as a person writes it who has types checked: mypy --strict and pyright pass over it without a word
(test_package.py)."""

from typing import Any, assert_type

import backplane
from backplane import Tensor, nn
from backplane.autograd import Function


class Cube(Function):
    @staticmethod
    def forward(ctx: backplane.FunctionContext, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: backplane.FunctionContext, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return gradient * 3 * x.square()


@backplane.no_grad()
def norm(x: Tensor, power: float = 2.0) -> Tensor:
    return (x.abs() ** power).sum(-1, keepdim=True) ** (1 / power)


def made() -> list[Tensor]:
    sizes: tuple[int, ...] = backplane.zeros(2, 3).shape
    return [
        backplane.ones(sizes, dtype=backplane.float64, device="cpu:0"),
        backplane.tensor([[1, 2, 3], [4, 5, 6]], dtype=float, requires_grad=True),
        backplane.full([2, 3], 0.5, requires_grad=True),
        backplane.arange(6).reshape(2, -1).to(backplane.float32),
        backplane.randint(10, (2, 3)).float(),
        backplane.rand(2, 3, generator=backplane.Generator().manual_seed(1)),
    ]


def indexed(x: Tensor) -> Tensor:
    x[0, ..., None] = 1
    x[x > 3] = backplane.tensor(0.0)
    return x[1:, [0, 2]][..., -1]


def computed(x: Tensor, y: Tensor) -> Tensor:
    z = backplane.add(x, y, alpha=2)
    z += 1
    z.mul_(0.5).clamp_(-1, 1)
    out = backplane.empty(0, dtype=z.dtype)
    assert_type(backplane.mul(z, 2, out=out), Tensor)
    values, indices = z.sort(dim=-1)
    assert_type(z.topk(2).values, Tensor)
    assert_type(z.max(dim=1).indices, Tensor)
    assert_type(z.max(), Tensor)
    assert_type(z.median(1).values, Tensor)
    assert_type(backplane.multiply(z, 2), Tensor)
    parts = z.split(1)
    assert_type(parts, tuple[Tensor, ...])
    both = backplane.cat([values, indices.to(values.dtype)], dim=0)
    return 1 - backplane.softmax(both.permute(1, 0), dim=0) @ both


@backplane.no_grad
def doubled(x: Tensor) -> Tensor:
    return x * 2


class Network(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layers(x)
        return y.squeeze(-1)


def trained(steps: int) -> float:
    network = Network(8)
    optimizer = backplane.optim.SGD(network.parameters(), lr=0.1)
    loss = backplane.zeros(())
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(network(backplane.ones(2, 3)), backplane.ones(2))
        loss.backward()
        optimizer.step()
    return float(loss)


def devices() -> dict[str, Any]:
    found = {str(device): device.index for device in backplane.devices()}
    with backplane.device("cpu:0"):
        assert_type(backplane.zeros(3).device, backplane.device)
    return found


def main() -> None:
    x = backplane.tensor([1.0, 2.0, 3.0], requires_grad=True)
    loss: Tensor = Cube.apply(x).sum()
    loss.backward()
    assert x.grad is not None and x.grad.tolist() == [3.0, 12.0, 27.0]
    (again,) = backplane.grad(x.square().sum(), x)
    assert bool((again == 2 * x).all())
    for each in made():
        assert each.shape == (2, 3), each
    assert indexed(backplane.ones(2, 3)).tolist() == [1.0]
    assert computed(backplane.ones(2, 3), backplane.zeros(2, 3)).shape == (3, 3)
    assert abs(norm(backplane.tensor([3.0, 4.0])).item() - 5) < 1e-6
    assert devices()
    assert_type(doubled(backplane.ones(1)), Tensor)
    assert trained(20) < 0.1
    try:
        print(backplane.ones(2) + backplane.ones(3))
    except ValueError as error:
        print(error)


if __name__ == "__main__":
    main()
