"""Averages of weights over a training: of all steps alike (SWA; Izmailov et al., 2018), or more of the last (EMA)."""

import math

from .. import _core
from ..autograd import no_grad
from ..nn import Module
from ..nn.norms import _BatchNorm
from ._lists import foreach_lerp_, real_parts
from ._scheduler import LRScheduler, check_count, per_group

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
           "update_bn"]  # fmt: skip


def get_swa_multi_avg_fn():
    """A `multi_avg_fn` of AveragedModel: the mean of all updates. It is the default."""

    def average(averages, current, num_averaged):
        foreach_lerp_(averages, current, 1 / (float(num_averaged) + 1))

    return average


def get_ema_multi_avg_fn(decay=0.999):
    """A `multi_avg_fn` of AveragedModel: averages = decay * averages + (1 - decay) * weights.

    Raises:
        ValueError: decay is not from 0 to 1.
    """
    _check_decay(decay)

    def average(averages, current, num_averaged):
        foreach_lerp_(averages, current, 1 - decay)

    return average


def get_swa_avg_fn():
    """An `avg_fn` of AveragedModel: the mean of all updates."""
    return lambda averaged, current, num_averaged: averaged + (current - averaged) / (num_averaged + 1)


def get_ema_avg_fn(decay=0.999):
    """An `avg_fn` of AveragedModel: decay * average + (1 - decay) * weight.

    Raises:
        ValueError: decay is not from 0 to 1.
    """
    _check_decay(decay)
    return lambda averaged, current, num_averaged: decay * averaged + (1 - decay) * current


def _check_decay(decay):
    if not 0 <= decay <= 1:
        raise ValueError(f"AveragedModel: the decay is {decay}; it must be from 0 to 1")


class AveragedModel(Module):
    """A copy of a model, `module`, whose parameters are averages of the model's; calling it calls the copy.

    Args:
        model: what is copied.
        device: where the averages are; by default where the model is.
        avg_fn: makes one average of (average, parameter, number of updates before).
        multi_avg_fn: writes all averages of a dtype and device, given lists in place of tensors.
        use_buffers: averages buffers too; else they are copied at each update.

    Raises:
        ValueError: both functions are given, or an update's model has other parameters.
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ValueError("AveragedModel: avg_fn and multi_avg_fn exclude one another; give one")
        from copy import deepcopy

        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", _core.tensor(0, dtype=_core.int64, device=device or "cpu"))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **keywords):
        return self.module(*args, **keywords)

    @no_grad()
    def update_parameters(self, model):
        """Averages the model's parameters in; the first time, copies them."""
        count = int(self.n_averaged)
        averaged = list(self.module.parameters())
        pairs = _pairs("parameters", averaged, list(model.parameters()))
        buffers = _pairs("buffers", list(self.module.buffers()), list(model.buffers()))
        if self.use_buffers:
            pairs, buffers = pairs + buffers, []
        lists = {}
        for average, current in pairs:
            if count == 0 or not (average.dtype.is_floating_point or average.dtype.is_complex):
                buffers.append((average, current))
                continue
            part = lists.setdefault((average.device, average.dtype), ([], []))
            part[0].append(average.detach())
            part[1].append(current.detach().to(average.device, average.dtype))
        for averages, current in lists.values():
            self._average(averages, current, count)
        for average, current in buffers:
            average.detach().copy_(current.detach())
        self.n_averaged.add_(1)

    def _average(self, averages, current, count):
        if self.avg_fn is not None:
            for average, value in zip(averages, current):
                average.copy_(self.avg_fn(average, value, count))
        else:
            function = self.multi_avg_fn or get_swa_multi_avg_fn()
            function([real_parts(each) for each in averages], [real_parts(each) for each in current], count)


def _pairs(what, averages, current):
    if len(averages) != len(current):
        raise ValueError(f"AveragedModel: {len(averages)} averages of {what}, and the model has {len(current)}")
    for index, (average, value) in enumerate(zip(averages, current)):
        if average.shape != value.shape:
            raise ValueError(
                f"AveragedModel: average {index} of {what} has shape {average.shape}, and the model's has"
                f" {value.shape}; pass the model that was copied"
            )
    return list(zip(averages, current))


@no_grad()
def update_bn(loader, model, device=None):
    """Running means and variances of all batch norms in `model` become the means over `loader`, which is read once.

    A batch is a tensor, or a list or tuple of which the first is taken, and moved to `device`. The model trains
    meanwhile; its modes, and momenta, are as before in the end. Without batch norms nothing is read.

    Raises:
        ValueError: the loader has no batch. The statistics are those of before then.
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    before = [(norm, norm.momentum, {name: buffer.clone() for name, buffer in norm.named_buffers()}) for norm in norms]
    modes = [(module, module.training) for module in model.modules()]
    try:
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None
        model.train()
        batch = None
        for batch in loader:
            given = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(given if device is None else given.to(device))
        if batch is None:
            raise ValueError("update_bn: there is no batch to take statistics of; pass a loader that is not read yet")
    except BaseException:
        for norm, _, statistics in before:
            for name, buffer in norm.named_buffers():
                buffer.copy_(statistics[name])
        raise
    finally:
        for norm, momentum, _ in before:
            norm.momentum = momentum
        for module, is_training in modes:
            module.training = is_training


class SWALR(LRScheduler):
    """To `swa_lr` in `anneal_epochs` steps, and then the same: for averaging weights.

    Args:
        swa_lr: the last rate, or a list of one for each group.
        anneal_strategy: "cos" or "linear".

    Raises:
        ValueError: the strategy is unknown, or anneal_epochs is below 0.
    """

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"SWALR: anneal_strategy is {anneal_strategy!r}; it must be 'cos' or 'linear'")
        if anneal_epochs != 0:
            check_count("SWALR", "anneal_epochs", anneal_epochs)
        for group, rate in zip(optimizer.param_groups, per_group("SWALR", "swa_lr", optimizer, swa_lr)):
            group["swa_lr"] = rate
        self.anneal_epochs, self._anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._part(step - 1), self._part(step)
        rates = []
        for group in self.optimizer.param_groups:
            goal, rate = group["swa_lr"], group["lr"]
            first = goal if before == 1 else (rate - before * goal) / (1 - before)
            rates.append(goal * now + first * (1 - now))
        return rates

    def _part(self, step):
        part = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * part)) / 2 if self._anneal_strategy == "cos" else part
