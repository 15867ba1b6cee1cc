"""Operators that are several rows each, by PyTorch's own samples with PyTorch's CPU forbidden."""

import sys
from pathlib import Path

import backplane_torch
import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

sys.path.append(str(Path(__file__).resolve().parents[3] / "conformance/through"))
from samples import try_operator  # noqa: E402

NAMES = [
    "grid_sampler_3d", "linalg.householder_product", "nn.functional.ctc_loss", "nn.functional.embedding_bag",
    "nn.functional.grid_sample", "ormqr", "unique_consecutive",
]  # fmt: skip


@pytest.mark.parametrize("backward", [False, True], ids=["results", "derivatives"])
@pytest.mark.parametrize("name", NAMES)
def test_samples_are_right_without_the_cpu(name, backward, strict):
    op = next(each for each in op_db if each.name == name)
    if backward and not op.supports_autograd:
        pytest.skip("it has no derivative")
    count, wrong, cpu, _ = try_operator(backplane_torch, op, torch.float64, "backplane:0", backward, 8)
    assert count and not wrong and not cpu, (wrong[:1], cpu)


def both(function, *values):
    """Results and derivatives on the device, and on PyTorch's CPU."""
    found = []
    for place in ("backplane", "cpu"):
        leaves = [value.detach().to(place).requires_grad_() for value in values]
        result = function(*leaves)
        weights = torch.linspace(-1, 1, result.numel(), dtype=result.dtype).reshape(result.shape).to(place)
        found.append([each.detach().cpu() for each in (result, *torch.autograd.grad(result, leaves, weights))])
    return found


def values(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("scale", [(1.3, 2.4), (0.55, 0.7)])
def test_resizing_takes_a_scale_that_is_not_the_ratio_of_sizes(mode, scale, strict):
    ours, theirs = both(lambda x: torch.nn.functional.interpolate(x, scale_factor=scale, mode=mode), values(2, 3, 7, 9))
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(3, 4), (11, 9)])
def test_resizing_may_be_smooth(mode, size, strict):
    ours, theirs = both(lambda x: torch.nn.functional.interpolate(x, size, mode=mode, antialias=True), values(2, 3, 7, 9))
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("dim", [0, 2])
def test_weights_have_a_direction_and_a_length(dim, strict):
    lengths = values(4, 1, 1) if dim == 0 else values(1, 1, 5)
    ours, theirs = both(lambda v, g: torch._weight_norm(v, g, dim), values(4, 3, 5), lengths)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_may_be_empty_padded_and_repeated(mode, strict):
    indices, offsets = torch.tensor([1, 2, 2, 0, 5, 1, 1]), torch.tensor([0, 3, 3, 5])
    for padding in (None, 1):
        ours, theirs = both(
            lambda w, padding=padding: torch.nn.functional.embedding_bag(
                indices.to(w.device), w, offsets.to(w.device), mode=mode, padding_idx=padding
            ),
            values(6, 3),
        )
        torch.testing.assert_close(ours, theirs)
