"""What takes parameters a step down their gradients."""

import itertools
import math
from collections import OrderedDict, defaultdict

from .. import _core
from .._core import Tensor
from ..autograd import enable_grad
from ._lists import foreach_zero_, number, real_parts
from ._plan import Batch, Plan

__all__ = ["Optimizer"]


class Apart:
    """While one lives, this thread's calls are neither recorded nor cast."""

    __slots__ = ("before",)

    def __enter__(self):
        self.before = _core._exclude_for_step()
        return self

    def __exit__(self, *error):
        _core.restore_layers(*self.before)


class Handle:
    """Of a hook: `remove()` takes it away."""

    _ids = itertools.count()

    def __init__(self, hooks, hook):
        self.id, self._hooks = next(self._ids), hooks
        hooks[self.id] = hook

    def remove(self):
        self._hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


class Optimizer:
    """An optimizer over groups of parameters, each with options of its own.

    A step makes a few calls for each group, device and dtype, whatever the number of parameters. It writes parameters
    in place, and nothing is recorded or cast. A parameter without a gradient stays as it is.

    A subclass of our own says what is kept of a parameter and how a batch of them steps; others may override `step`
    whole.

    Args:
        params: an iterable of leaves, of pairs of a name and a leaf, or of dicts with "params" and options of the
            group.
        defaults: the options of groups that do not have their own.

    Raises:
        TypeError: something is not a Tensor.
        ValueError: there are no parameters, one is not a leaf of floating-point or complex numbers, or is listed twice.
    """

    def __init__(self, params, defaults):
        if isinstance(params, (Tensor, str, bytes)):
            raise TypeError(
                f"{type(self).__name__}: params must be an iterable of Tensors or of dicts, not a"
                f" {type(params).__name__}"
            )
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        self._before_step, self._after_step = OrderedDict(), OrderedDict()
        self._places = {}  # where each parameter was at its last step, by its id
        self._plans = {}  # by the id of a group
        groups = list(params)
        if not groups:
            raise ValueError(f"{type(self).__name__}: got no parameters; pass model.parameters()")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    # --- What an optimizer of our own says ----------------------------------------------------------------------------

    _numbers = ()  # names of numbers in a parameter's state, which a batch shares

    def _check_group(self, group):
        """Raises ValueError for options that the constructor refuses."""

    def _check_parameter(self, index, parameter):
        """Raises ValueError for a parameter that is not for this optimizer."""

    def _kept(self, group):
        """Names of the tensors that a step of the group keeps of each parameter."""
        return ()

    def _initial(self, name, parameter, group):
        """Before the first step; None: nothing is kept of this parameter."""
        return _core.operators["zeros_like"](parameter.detach())

    def _initial_number(self, name, group):
        return 0.0

    def _kept_shape(self, name, parameter):
        """Of a kept tensor; None: any."""
        return parameter.shape

    def _update(self, group, batch):
        raise NotImplementedError(f"{type(self).__name__}: override step")

    # --- Steps --------------------------------------------------------------------------------------------------------

    def step(self, closure=None):
        """Takes a step.

        `closure`, which computes the loss and its gradients, is called before with recording on; returns its loss.
        """
        loss = None
        if closure is not None:
            if not callable(closure):
                raise TypeError(f"{type(self).__name__}: closure must be a function, not a {type(closure).__name__}")
            with enable_grad():
                loss = closure()
        for hook in list(self._before_step.values()):
            hook(self, (), {})
        with Apart():
            self._step_groups()
        for hook in list(self._after_step.values()):
            hook(self, (), {})
        return loss

    def _step_groups(self):
        """All that can be refused, and the memory of what is kept, comes before the first write."""
        for group in self.param_groups:
            self._check_group(group)
        if len(self._plans) > len(self.param_groups):  # of groups that are no more, with their parameters
            self._plans.clear()
        for group, batches in [(group, self._batches(group)) for group in self.param_groups]:
            for batch in batches:
                before = {name: batch.states[0][name] for name in self._numbers}
                try:
                    self._update(group, batch)
                except BaseException:  # a step that was not taken is not counted
                    for state in batch.states:
                        state.update(before)
                    raise
                finally:
                    batch.grads = None  # not kept alive till the next step

    def _batches(self, group):
        grads, marks = _core._gathered(list(group["params"]))
        plan = self._plans.get(id(group))
        if plan is not None and plan.serves(self, group, marks):
            return plan.batches_with(grads)
        batches = {}
        kept, numbers, states = self._kept(group), self._numbers, self.state
        for place, (parameter, grad) in enumerate(zip(group["params"], grads)):
            if grad is None:
                continue
            device, dtype = parameter.device, parameter.dtype
            state = states[parameter]
            self._prepare(state, parameter, (device, dtype), group, kept)
            is_dense = parameter.is_contiguous()
            key = (device, dtype, is_dense, *[id(state[name]) for name in numbers], *self._apart_by(group, state))
            batch = batches.get(key)
            if batch is None:
                batch = batches[key] = Batch(dtype.is_complex)
            batch.add(place, parameter, grad, state)
        if not any(batch.is_complex for batch in batches.values()):  # whose real views may get other memory
            self._plans[id(group)] = Plan(self, group, marks, batches.values())
        return batches.values()

    def _apart_by(self, group, state):
        """What else parameters of a batch have in common."""
        return ()

    def _prepare(self, state, parameter, place, group, kept):
        if self._places.get(id(parameter)) != place:  # the first step, or its module has moved
            self._places[id(parameter)] = place
            for name, value in state.items():
                if isinstance(value, Tensor) and name not in self._numbers:
                    state[name] = value.to(*place)
        for name in self._numbers:
            if name not in state:
                for each, value in self._first_numbers(group).items():
                    state.setdefault(each, value)
                break
        for name in kept:
            if state.get(name) is None:
                made = self._initial(name, parameter, group)
                if made is not None:
                    state[name] = made

    def _first_numbers(self, group):
        """One object for all parameters that begin, since a batch is what shares its numbers."""
        known = self.__dict__.setdefault("_first", {})
        values = {name: self._initial_number(name, group) for name in self._numbers}
        key = tuple(values.values())
        if key not in known:
            known.clear()
            known[key] = {name: number(value) for name, value in values.items()}
        return known[key]

    def zero_grad(self, set_to_none=True):
        """Forgets the gradients of all parameters, or fills them with 0, detached from what has computed them."""
        grads = []
        for group in self.param_groups:
            if set_to_none:
                _core._forget_gradients(list(group["params"]))
                continue
            for parameter in group["params"]:
                if parameter.grad is not None:
                    if parameter.grad.requires_grad:
                        parameter.grad = parameter.grad.detach()
                    grads.append(real_parts(parameter.grad))
        if grads:
            with Apart():
                foreach_zero_(grads)

    # --- Groups -------------------------------------------------------------------------------------------------------

    def add_param_group(self, param_group):
        """Adds a group: a dict with "params", and the options that are not the defaults.

        Raises as the constructor does.
        """
        name = type(self).__name__
        if not isinstance(param_group, dict):
            raise TypeError(f"{name}: a parameter group must be a dict, not a {type(param_group).__name__}")
        if "params" not in param_group:
            raise ValueError(f"{name}: a parameter group needs an entry 'params', and has {list(param_group)}")
        params = param_group["params"]
        if isinstance(params, (set, frozenset)):
            raise TypeError(f"{name}: a set of parameters has no order, which state_dict() needs; pass a list")
        params = [params] if isinstance(params, Tensor) else list(params)
        group = dict(param_group)
        if params and all(isinstance(each, tuple) and len(each) == 2 for each in params):
            group["param_names"], params = [each[0] for each in params], [each[1] for each in params]
        taken = {id(each) for other in self.param_groups for each in other["params"]}
        for index, parameter in enumerate(params):
            self._check_leaf(index, parameter)
            if id(parameter) in taken:
                raise ValueError(f"{name}: parameter {index} was added already; pass each once, in one group")
            taken.add(id(parameter))
        group["params"] = params
        for option, value in self.defaults.items():
            group.setdefault(option, value)
        self._check_group(group)
        self.param_groups.append(group)

    def _check_leaf(self, index, parameter):
        name = type(self).__name__
        if not isinstance(parameter, Tensor):
            raise TypeError(f"{name}: parameter {index} is a {type(parameter).__name__}; pass Tensors")
        if not parameter.is_leaf or not (parameter.is_floating_point() or parameter.is_complex()):
            raise ValueError(
                f"{name}: parameter {index} is not a leaf of floating-point or complex numbers; pass the model's own"
                " parameters, not what was computed from them"
            )
        self._check_parameter(index, parameter)

    def register_step_pre_hook(self, hook):
        """Calls `hook(optimizer, args, kwargs)` before each step. Returns a handle with `remove()`."""
        return Handle(self._before_step, hook)

    def register_step_post_hook(self, hook):
        """Calls `hook(optimizer, args, kwargs)` after each step. Returns a handle with `remove()`."""
        return Handle(self._after_step, hook)

    # --- States -------------------------------------------------------------------------------------------------------

    def state_dict(self):
        """{"state": {0: {...}}, "param_groups": [...]}, as PyTorch has it; parameters are numbered through all groups.

        The tensors are the optimizer's own: clone what must outlive the next step.
        """
        from ._states import state_dict

        return state_dict(self)

    def load_state_dict(self, state_dict):
        """Loads what `state_dict` returned, of this optimizer or of PyTorch's of the same name.

        Raises:
            TypeError: it is not a dict of the layout.
            ValueError: it has other numbers of groups or parameters, other shapes, or options that the constructor
                refuses. Nothing has changed then.
        """
        from ._states import load_state_dict

        load_state_dict(self, state_dict)

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name not in ("_places", "_plans", "_first")}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._places, self._plans = {}, {}

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for index, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {index}")
            lines += [
                f"    {name}: {value}" for name, value in sorted(group.items()) if name not in ("params", "param_names")
            ]
        return "\n".join([*lines, ")"])


def check_not_negative(optimizer, group, *names):
    """Raises ValueError for options that are negative, infinite or NaN, TypeError for those that are not numbers."""
    for name in names:
        try:
            value = float(group[name])
        except (TypeError, ValueError):
            raise TypeError(f"{optimizer}: {name} must be a number, not {group[name]!r}") from None
        if not 0 <= value < math.inf:
            raise ValueError(f"{optimizer}: {name} is {value}; it must be finite and not negative")


def check_betas(optimizer, group):
    """Raises ValueError unless betas are two numbers in [0, 1)."""
    betas = group["betas"]
    if not isinstance(betas, (tuple, list)) or len(betas) != 2 or not all(0 <= float(beta) < 1 for beta in betas):
        raise ValueError(f"{optimizer}: betas are {betas}; they must be two numbers, at least 0 and below 1")


def switches(optimizer, **given):
    """PyTorch's options that only say how it computes: they are kept, so that it can load what is saved here."""
    if given.get("differentiable"):
        raise ValueError(f"{optimizer}: a step is never recorded; leave differentiable at False")
    return given
