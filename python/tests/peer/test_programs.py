"""Random programs of tensors, indexing, writes and derivatives, in both packages at once: the same values and gradients,
or an error in both. BACKPLANE_PROGRAMS: how many, 150 by default."""

import os
import random
import re

import backplane
import numpy
import pytest
import torch

PROGRAMS = int(os.environ.get("BACKPLANE_PROGRAMS", "150"))
LENGTH = 12


def dims(r, x):
    return r.randrange(-max(x.ndim, 1), max(x.ndim, 1))


def index(r, x):
    """Something to index with, for both. Either numbers or lists and masks: where both stand apart, ours has NumPy's order
    of dimensions, and PyTorch's is another. Each element once: of several writes to one, PyTorch sums all derivatives, and
    ours follows the write that stays."""
    parts = []
    numbers = r.randrange(2)
    for size in x.shape[: r.randrange(0, x.ndim + 1)]:
        kind = r.randrange(6)
        if kind == 0 and size and numbers:
            parts.append(r.randrange(-size, size))
        elif kind == 0 and size:
            places = r.sample(range(size), r.randrange(1, min(size, 3) + 1))
            parts.append([place - r.choice([0, size]) for place in places])
        elif kind == 1:
            parts.append(slice(r.randrange(-3, 3), None, r.choice([1, 1, 2, 3])))
        elif kind == 2:
            mask = numpy.array([r.random() < 0.6 for _ in range(size)], dtype=bool)
            parts.append(slice(None) if numbers else mask)
        else:
            parts.append(slice(None))
    if r.randrange(3) == 0:
        parts.insert(r.randrange(len(parts) + 1), None)
    if r.randrange(6) == 0:
        parts.append(Ellipsis)
    return tuple(parts)


def in_terms_of(package, parts):
    """Masks are tensors, since a package may read NumPy's arrays in its own way."""
    return tuple(package.tensor(part) if isinstance(part, numpy.ndarray) else part for part in parts)


def written(package, x, change):
    made = x.clone()
    change(made)
    return made


# Each takes a source of random numbers and tensors (for their shapes), and gives what to do with a package and its tensors.
def steps(r, x, y):
    d, e = dims(r, x), dims(r, x)
    keep = bool(r.randrange(2))
    at, at_y = index(r, x), index(r, y)
    number = r.choice([2, -1.5, 0.5])
    sizes = list(x.shape)
    r.shuffle(sizes)
    order = list(range(x.ndim))
    r.shuffle(order)
    count = r.randrange(1, 4)
    return r.choice([
        lambda p, x, y: x + y, lambda p, x, y: x * y, lambda p, x, y: x - number, lambda p, x, y: number * x,
        lambda p, x, y: x / (y * y + 1), lambda p, x, y: x @ y, lambda p, x, y: x.tanh(),
        lambda p, x, y: x.sigmoid() ** 2,
        lambda p, x, y: p.where(x > y, x, y * 2), lambda p, x, y: p.maximum(x, y),
        lambda p, x, y: x.sum(d, keepdim=keep), lambda p, x, y: x.mean(d, keepdim=keep),
        lambda p, x, y: x.max(d, keepdim=keep)[0] if x.numel() else x,
        lambda p, x, y: x.var(d, keepdim=keep), lambda p, x, y: x.softmax(d), lambda p, x, y: x.cumsum(d),
        lambda p, x, y: x.logsumexp(d, keepdim=keep), lambda p, x, y: x.sort(d, descending=keep)[0],
        lambda p, x, y: x.transpose(d, e), lambda p, x, y: x.permute(order), lambda p, x, y: x.reshape(sizes),
        lambda p, x, y: x.unsqueeze(d), lambda p, x, y: x.squeeze(d), lambda p, x, y: x.flatten(), lambda p, x, y: x.flip(d),
        lambda p, x, y: x.expand(count, *x.shape), lambda p, x, y: x.expand_as(y),
        lambda p, x, y: x.roll(count, d) if x.ndim else x,
        lambda p, x, y: p.cat([x, y], d), lambda p, x, y: p.stack([x, x * 2], d), lambda p, x, y: x.chunk(count, d)[-1],
        lambda p, x, y: x.unbind(d)[0], lambda p, x, y: x.diagonal(0, d, e), lambda p, x, y: x.tril(count - 2),
        lambda p, x, y: x[in_terms_of(p, at)], lambda p, x, y: y[in_terms_of(p, at_y)],
        lambda p, x, y: written(p, x, lambda m: m.__setitem__(in_terms_of(p, at), number)),
        lambda p, x, y: written(p, x, lambda m: m.__setitem__(in_terms_of(p, at), m[in_terms_of(p, at)].sin())),
        lambda p, x, y: written(p, x, lambda m: m[in_terms_of(p, at)].mul_(0.5)),
        lambda p, x, y: written(p, x, lambda m: m.add_(y)), lambda p, x, y: written(p, x, lambda m: m.transpose(d, e).mul_(y)),
        lambda p, x, y: x.detach() * y, lambda p, x, y: (x > 0).double() * y, lambda p, x, y: x.to(p.float32).to(p.float64),
        lambda p, x, y: x.gather(d, (x > y).long() if x.shape == y.shape else (x > 0).long()),
    ])


def attempt(package, step, x, y):
    try:
        return step(package, x, y)
    except (TypeError, ValueError, IndexError, RuntimeError, NotImplementedError) as error:
        return error


def attempt_backward(loss):
    try:
        loss.backward()
    except (ValueError, RuntimeError) as error:
        return error


@pytest.mark.parametrize("program", range(PROGRAMS))
def test_programs_do_the_same(program):
    r = random.Random(program)
    shapes = [tuple(r.choice([1, 2, 3, 5, 0] if r.randrange(8) == 0 else [1, 2, 3, 5]) for _ in range(r.randrange(0, 4)))
              for _ in range(3)]
    arrays = [numpy.random.default_rng(r.randrange(2**31)).normal(size=shape) for shape in shapes]
    ours = [backplane.tensor(array).requires_grad_() for array in arrays]
    theirs = [torch.tensor(array).requires_grad_() for array in arrays]
    leaves = list(zip(ours, theirs))
    ran = 0
    for _ in range(LENGTH):
        a, b = r.randrange(len(ours)), r.randrange(len(ours))
        step = steps(r, theirs[a], theirs[b])
        names = f"step {ran}, {step.__code__.co_names}"
        mine, peer = attempt(backplane, step, ours[a], ours[b]), attempt(torch, step, theirs[a], theirs[b])
        if isinstance(peer, Exception) or isinstance(mine, Exception):
            assert isinstance(mine, Exception) == isinstance(peer, Exception), f"{names}: ours {mine!r}, PyTorch's {peer!r}"
            continue
        assert tuple(mine.shape) == tuple(peer.shape), names
        numpy.testing.assert_allclose(mine.detach().numpy(), peer.detach().numpy(), rtol=1e-9, atol=1e-11, err_msg=names)
        if peer.numel() > 2000:
            continue
        ours.append(mine)
        theirs.append(peer)
        ran += 1
    results = [(x, y) for x, y in zip(ours, theirs) if y.requires_grad and y.numel()]
    if not results:
        return
    sum_of_ours, sum_of_theirs = sum((x * x).sum() for x, _ in results), sum((y * y).sum() for _, y in results)
    assert sum_of_ours.requires_grad
    # What was written in place after a call that needs it is an error in both, but for a tensor without elements in ours.
    mine, peer = attempt_backward(sum_of_ours), attempt_backward(sum_of_theirs)
    if not re.search(r"Tensor \[(.*, )?0(, .*)?\]", str(peer)):
        assert (mine is None) == (peer is None), f"backward: ours {mine!r}, PyTorch's {peer!r}"
    if mine is not None or peer is not None:
        return
    for x, y in leaves:
        if not y.numel():
            continue
        if y.grad is None:
            assert x.grad is None
            continue
        wanted = y.grad.numpy()
        size = numpy.nanmax(numpy.abs(wanted), initial=0, where=numpy.isfinite(wanted))
        numpy.testing.assert_allclose(x.grad.numpy(), wanted, rtol=1e-7, atol=1e-8 * (1 + size))
