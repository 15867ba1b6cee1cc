"""Random training programs against PyTorch's: groups come, rates change, parameters freeze, get other data, state is loaded."""

import copy
import random

import backplane
import numpy
import pytest
import torch

CHOICES = {
    "SGD": [{}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}, {"weight_decay": 0.1}],
    "Adam": [{}, {"amsgrad": True}],
    "AdamW": [{}, {"amsgrad": True}],
    **{name: [{}] for name in ("RMSprop", "Adagrad", "NAdam", "RAdam", "Adamax", "Adadelta")},
}


class Twins:
    """The same parameters in both, and the optimizers that have them."""

    def __init__(self, r, numbers):
        arrays = [
            numpy.asarray(numbers.normal(size=[r.randrange(1, 4) for _ in range(r.randrange(0, 3))]), r.choice("ddf"))
            for _ in range(r.randrange(2, 6))
        ]
        self.numbers = numbers
        self.ours = [backplane.tensor(each).requires_grad_() for each in arrays]
        self.theirs = [torch.tensor(each).requires_grad_() for each in arrays]
        self.name = r.choice(sorted(CHOICES))
        options = {"lr": 0.05, **r.choice(CHOICES[self.name])}
        self.optimizers = [
            getattr(module, self.name)(params[:2], **options)
            for module, params in ((backplane.optim, self.ours), (torch.optim, self.theirs))
        ]
        self.used = 2

    def drawn(self, i):
        dtype = self.theirs[i].detach().numpy().dtype
        return numpy.asarray(self.numbers.normal(size=self.theirs[i].shape), dtype)

    def add_group(self, r):
        if self.used < len(self.ours):
            for optimizer, params in zip(self.optimizers, (self.ours, self.theirs)):
                optimizer.add_param_group({"params": [params[self.used]], "lr": 0.01})
            self.used += 1

    def change_rate(self, r):
        group, rate = r.randrange(len(self.optimizers[0].param_groups)), r.choice([0.1, 0.001])
        for optimizer in self.optimizers:
            optimizer.param_groups[group]["lr"] = rate

    def freeze(self, r):
        i, wanted = r.randrange(self.used), r.random() < 0.5
        for params in (self.ours, self.theirs):
            params[i].requires_grad_(wanted)
        if not wanted:  # ours keeps no gradient of a frozen parameter
            self.theirs[i].grad = None

    def load_state(self, r):
        for optimizer in self.optimizers:
            optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))

    def replace_data(self, r):
        i = r.randrange(self.used)
        data = self.drawn(i)
        self.ours[i].data, self.theirs[i].data = backplane.tensor(data), torch.tensor(data)

    def step(self, r):
        forgotten = r.random() < 0.5
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=forgotten)
        for i in range(self.used):
            if self.theirs[i].requires_grad and r.random() < 0.85:
                gradient = self.drawn(i)
                self.ours[i].grad, self.theirs[i].grad = backplane.tensor(gradient), torch.tensor(gradient)
        for optimizer in self.optimizers:
            optimizer.step()

    def compare(self):
        for ours, theirs in zip(self.ours, self.theirs):
            # NAdam and RAdam of both keep their numbers in float32.
            rtol, atol = (1e-5, 1e-6) if theirs.dtype == torch.float32 else (1e-6, 1e-8)
            numpy.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=rtol, atol=atol)


@pytest.mark.parametrize("seed", range(200))
def test_a_random_program(seed):
    r = random.Random(seed)
    twins = Twins(r, numpy.random.default_rng(seed))
    changes = [twins.add_group, twins.change_rate, twins.freeze, twins.load_state, twins.replace_data]
    for _ in range(r.randrange(5, 15)):
        r.choice([*changes, lambda r: None])(r)
        twins.step(r)
        twins.compare()
