"""What sets the rates of an optimizer's groups, step by step."""

from .optimizer import Optimizer

__all__ = ["LRScheduler"]


class LRScheduler:
    """A rule for the rates of an optimizer's groups. The first step is taken when it is made.

    A subclass has `get_lr()`, which returns a rate for each group; `self.last_epoch` is the number of the step.

    Args:
        optimizer: whose groups.
        last_epoch: the step to go on from; -1 begins.

    Raises:
        TypeError: it is not an optimizer.
        ValueError: it goes on, and a group has no "initial_lr".
    """

    def __init__(self, optimizer, last_epoch=-1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(self).__name__}: optimizer must be an Optimizer, not a {type(optimizer).__name__}")
        self.optimizer = optimizer
        for index, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", float(group["lr"]))
            elif "initial_lr" not in group:
                raise ValueError(
                    f"{type(self).__name__}: last_epoch is {last_epoch}, and group {index} has no 'initial_lr' to go on"
                    " from"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._begin()

    def _begin(self):
        self._step_count = 0
        self.step()

    def _undo(self):
        """Takes the first step back, for who begins again later."""
        self.last_epoch -= 1

    def _reset(self):
        """Of a scheduler whose turn it is: from its first rates."""
        self.step(0)

    def get_lr(self):
        """The rates of this step, group by group."""
        raise NotImplementedError(f"{type(self).__name__}: override get_lr")

    def get_last_lr(self):
        """The rates that the last step has set."""
        return self._last_lr

    def step(self, epoch=None):
        """Goes on to the next step, or to a certain one."""
        self._step_count += 1
        if epoch is None:
            self.last_epoch += 1
            self._set(self.get_lr())
        else:
            self.last_epoch = epoch
            self._set(self._closed_form())

    def _closed_form(self):
        """The rates of this step by themselves, whatever the one before was."""
        return self.get_lr()

    def _set(self, rates):
        groups = self.optimizer.param_groups
        if len(rates) != len(groups):
            raise ValueError(
                f"{type(self).__name__}: has {len(rates)} rates, and the optimizer {len(groups)} groups; add groups"
                " before the scheduler is made"
            )
        for group, rate in zip(groups, rates):
            group["lr"] = rate
        self._last_lr = list(rates)

    def _rates(self):
        return [group["lr"] for group in self.optimizer.param_groups]

    # --- States -------------------------------------------------------------------------------------------------------

    _apart = ("optimizer",)  # attributes that are not part of the state

    def state_dict(self):
        """All that it is made of but the optimizer and functions."""
        return {name: value for name, value in self.__dict__.items() if name not in self._apart}

    def load_state_dict(self, state_dict):
        """Loads what `state_dict` returned, also that of PyTorch's scheduler of the same name. Rates are the optimizer's
        to load.

        Raises:
            TypeError: it is not a dict.
            ValueError: it is the state of another scheduler. Nothing has changed then.
        """
        name = type(self).__name__
        if not isinstance(state_dict, dict):
            raise TypeError(f"{name}: load_state_dict takes a dict, not a {type(state_dict).__name__}")
        own = self.state_dict()
        for key in ("last_epoch", *own):
            if key not in state_dict and not key.startswith("_"):
                raise ValueError(
                    f"{name}: the state has no '{key}', only {list(state_dict)}; is it the state of another scheduler?"
                )
        self._check_loaded(state_dict)
        self.__dict__.update({key: state_dict[key] for key in own if key in state_dict})

    def _check_loaded(self, state):
        if not isinstance(state["last_epoch"], (int, float)) or len(state.get("base_lrs", self.base_lrs)) != len(
            self.base_lrs
        ):
            raise ValueError(
                f"{type(self).__name__}: the state is at step {state['last_epoch']!r} with rates"
                f" {state.get('base_lrs')}; the optimizer has {len(self.base_lrs)} groups"
            )


def per_group(scheduler, name, optimizer, value):
    """One for each group: a list of them, or one for all."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise ValueError(f"{scheduler}: {name} has {len(value)} entries, and the optimizer {count} groups")
    return list(value)


def check_count(scheduler, name, value):
    """Raises ValueError unless it is an integer from 1 on."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{scheduler}: {name} is {value!r}; it must be an integer from 1 on")
