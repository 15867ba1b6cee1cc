"""States of optimizers, in PyTorch's layout."""

from .._core import Tensor
from ._lists import number


def state_dict(optimizer):
    numbers = {}
    groups = []
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            numbers[id(parameter)] = len(numbers)
        saved = {name: value for name, value in group.items() if name != "params"}
        groups.append({**saved, "params": [numbers[id(parameter)] for parameter in group["params"]]})
    state = {
        numbers[id(key)] if id(key) in numbers else key: dict(kept) for key, kept in optimizer.state.items() if kept
    }
    return {"state": state, "param_groups": groups}


def load_state_dict(optimizer, saved):
    """Makes everything first, since nothing shall change if a part is refused."""
    name = type(optimizer).__name__
    if (
        not isinstance(saved, dict)
        or not isinstance(saved.get("state"), dict)
        or not isinstance(saved.get("param_groups"), list)
    ):
        raise TypeError(
            f"{name}: load_state_dict takes a dict with a dict 'state' and a list 'param_groups', as state_dict()"
            " returns"
        )
    groups = saved["param_groups"]
    if len(groups) != len(optimizer.param_groups):
        raise ValueError(
            f"{name}: the state has {len(groups)} parameter groups and the optimizer {len(optimizer.param_groups)}"
        )
    parameters, loaded_groups = {}, []
    for index, (group, own) in enumerate(zip(groups, optimizer.param_groups)):
        if not isinstance(group, dict) or not isinstance(group.get("params"), (list, tuple)):
            raise TypeError(f"{name}: group {index} of the state must be a dict with a list 'params', not {group!r}")
        if len(group["params"]) != len(own["params"]):
            raise ValueError(
                f"{name}: group {index} of the state has {len(group['params'])} parameters and the optimizer's "
                f"{len(own['params'])}"
            )
        parameters.update(zip(map(_key, group["params"]), own["params"]))
        options = {option: _like(value, own.get(option)) for option, value in group.items() if option != "params"}
        loaded_groups.append({**own, **options, "params": own["params"]})
        optimizer._check_group(loaded_groups[-1])
    state, shared = {}, {}
    for key, kept in saved["state"].items():
        parameter = parameters.get(_key(key))
        if parameter is None:
            state[key] = kept
        elif not isinstance(kept, dict):
            raise TypeError(f"{name}: the state of parameter {key} is a {type(kept).__name__}, not a dict")
        else:
            state[parameter] = _state(optimizer, key, kept, parameter, shared)
    for own, loaded in zip(optimizer.param_groups, loaded_groups):
        own.clear()
        own.update(loaded)
    optimizer.state.clear()
    optimizer.state.update(state)
    optimizer._places.clear()
    optimizer._plans.clear()


def _key(key):
    """Files have decimal text for integers."""
    return int(key) if isinstance(key, str) and key.isdecimal() else key


def _like(value, own):
    """Files have lists for tuples."""
    return tuple(value) if isinstance(own, tuple) and isinstance(value, list) else value


def _state(optimizer, key, kept, parameter, shared):
    name = type(optimizer).__name__
    made = {}
    for entry, value in kept.items():
        what = f"{name}: '{entry}' of parameter {key}"
        if entry in optimizer._numbers:
            made[entry] = _number(value, entry, what, shared)
        elif isinstance(value, Tensor):
            made[entry] = _tensor(optimizer, entry, value, parameter, what)
        else:
            made[entry] = value
    missing = [entry for entry in optimizer._numbers if kept and entry not in made]
    if missing:
        raise ValueError(
            f"{name}: the state of parameter {key} has no '{missing[0]}', only {list(kept)}; is it the state of another"
            " optimizer?"
        )
    return made


def _number(value, entry, what, shared):
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{what} must be a number, not {value!r}") from None
    if not abs(found) < 2**53 or entry == "step" and (found < 0 or found != int(found)):
        raise ValueError(f"{what} is {found}; it must be finite, and a step a whole number from 0")
    if (entry, found) not in shared:  # a batch is what shares its numbers
        shared[entry, found] = number(found)
    return shared[entry, found]


def _tensor(optimizer, entry, value, parameter, what):
    shape = optimizer._kept_shape(entry, parameter)
    if shape is not None and tuple(value.shape) != tuple(shape):
        raise ValueError(
            f"{what} has shape {tuple(value.shape)} and belongs to one of {tuple(shape)}; is it the state of another"
            " model?"
        )
    if value.dtype.is_complex and not parameter.dtype.is_complex:
        raise ValueError(
            f"{what} is {value.dtype.name} and belongs to a parameter of {parameter.dtype.name}; is it the state of"
            " another model?"
        )
    if value.is_floating_point() or value.is_complex():
        value = value.detach().to(parameter.device, parameter.dtype)
    return value.clone()
