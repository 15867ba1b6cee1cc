"""Random maxima of windows against PyTorch's: values, and where they are, in lines and pictures of any layout."""

import random

import backplane
import numpy
import pytest
import torch

OF_TORCH = {1: torch.nn.functional.max_pool1d, 2: torch.nn.functional.max_pool2d}


def sampled(r, dims):
    kernel = [r.randrange(1, 5) for _ in range(dims)]
    stride, dilation = [r.randrange(1, 4) for _ in range(dims)], [r.randrange(1, 3) for _ in range(dims)]
    padding = [r.randrange(0, size // 2 + 1) for size in kernel]
    shape = [r.choice([1, 2, 3]), r.choice([1, 2, 17, 40])]
    shape += [r.choice([1, 3, 4, 7, 8, 17, 33, 70, 300 if dims == 1 else 20]) for _ in range(dims)]
    return shape, (kernel, stride, padding, dilation, r.random() < 0.3)


def filled(r, seed, shape):
    numbers = numpy.random.default_rng(seed)
    array = (numbers.integers(-4, 5, size=shape) if r.random() < 0.5 else numbers.normal(size=shape))
    array = array.astype(r.choice([numpy.float32, numpy.float64]))
    if r.random() < 0.2:
        array[numbers.random(shape) < 0.1] = numpy.nan
    if r.random() < 0.1:
        array[...] = -numpy.inf
    return array


@pytest.mark.parametrize("seed", range(20))
def test_maxima_and_their_places(seed):
    r = random.Random(seed)
    compared = 0
    for number in range(200):
        dims = r.choice([1, 2])
        shape, arguments = sampled(r, dims)
        array = filled(r, 200 * seed + number, shape)
        order = r.choice([None, "channels last", "turned"])
        theirs, ours = torch.tensor(array), backplane.tensor(array)
        if order == "channels last":
            theirs, ours = (x.movedim(1, -1).contiguous().movedim(-1, 1) for x in (theirs, ours))
        if order == "turned":
            theirs, ours = (x.transpose(-1, -2 if dims == 2 else 0) for x in (theirs, ours))
        try:
            wanted, places = OF_TORCH[dims](theirs, *arguments, return_indices=True)
        except RuntimeError:
            with pytest.raises(ValueError):
                backplane.max_pool_with_indices(ours, *arguments)
            continue
        compared += 1
        values, indices = backplane.max_pool_with_indices(ours, *arguments)
        about = f"{shape} {arguments} {order}"
        numpy.testing.assert_array_equal(values.numpy(), wanted.numpy(), err_msg=about)
        # PyTorch takes the last of several NaN, and ours the first; of padding alone it names no place.
        said = numpy.isfinite(wanted.numpy())
        numpy.testing.assert_array_equal(indices.numpy()[said], places.numpy()[said], err_msg=about)
    assert compared > 100
