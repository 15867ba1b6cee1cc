"""A module's values as a dict, and back."""

import collections
from collections.abc import Mapping

from .. import _core
from .._core import Tensor
from ..autograd import no_grad
from .parameter import Parameter

__all__ = ["load_state_dict", "save_own", "state_dict"]

_EXTRA = "_extra_state"


class IncompatibleKeys(collections.namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """Names that the dict lacks, and names that the module does not know."""

    def __repr__(self):
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"


def state_dict(self, *, destination=None, prefix="", keep_vars=False):
    """Parameters and persistent buffers by their paths.

    Args:
        destination: a dict to put them into; by default a new one.
        prefix: what stands before each path.
        keep_vars: give the parameters themselves; else tensors over the same memory that are outside of every record.
    """
    destination = {} if destination is None else destination
    hooks = self._hooks
    for hook in list(hooks.state_dict_pre.values()) if hooks else ():
        hook(self, prefix, keep_vars)
    self._save_to_state_dict(destination, prefix, keep_vars)
    for name, module in self._modules.items():
        if module is not None:
            module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    for hook in list(hooks.state_dict_post.values()) if hooks else ():
        hook(self, destination, prefix, {})
    return destination


def save_own(self, destination, prefix, keep_vars):
    """Puts this module's own tensors into the dict, without those of modules within."""
    for name, tensor in _own(self).items():
        destination[prefix + name] = tensor if keep_vars or _has_no_shape(tensor) else tensor.detach()
    if _has_extra(self, "get_extra_state"):
        destination[prefix + _EXTRA] = self.get_extra_state()


def _own(module):
    values = module.__dict__
    kinds = module._kinds
    named = [name for name in kinds if kinds[name] == "parameter"] + [name for name in kinds if kinds[name] == "buffer"]
    return {name: values[name] for name in named if values[name] is not None}


def _has_extra(module, method):
    from .module import Module

    return getattr(type(module), method) is not getattr(Module, method)


def load_state_dict(self, state_dict, strict=True, assign=False):
    """Copies values by their paths into this module. When something does not fit, nothing is loaded.

    Args:
        state_dict: tensors by path, or any arrays with `__dlpack__`, such as PyTorch's and NumPy's.
        strict: the dict must have every path of the module, and no other.
        assign: take the dict's tensors in place of the module's, rather than copy.

    Returns:
        The paths that are missing in the dict, and those that the module does not know.

    Raises:
        TypeError: it is not a dict. ValueError: shapes or dtypes do not fit, or, with `strict`, names do not.
    """
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"load_state_dict: give a dict, not {type(state_dict).__name__}")
    given = dict(state_dict)
    missing, unexpected, misfits = [], [], []
    for path, module in _places(self):
        for hook in list(module._hooks.load_pre.values()) if module._hooks else ():
            hook(module, given, path, {}, strict, missing, unexpected, misfits)
    writes, known = [], set()
    for path, module in _places(self):
        for name, own in _own(module).items():
            _match(
                path + name,
                own,
                given,
                known,
                missing,
                misfits,
                lambda value, m=module, n=name: writes.append((m, n, value)),
            )
        if _has_extra(module, "set_extra_state"):
            known.add(path + _EXTRA)
            if path + _EXTRA in given:
                writes.append((module, None, given[path + _EXTRA]))
            else:
                missing.append(path + _EXTRA)
    unexpected += [name for name in given if name not in known]
    _refuse(type(self).__name__, misfits, missing if strict else [], unexpected if strict else [])
    with no_grad():
        for module, name, value in writes:
            _write(module, name, value, assign)
    keys = IncompatibleKeys(missing, unexpected)
    for _, module in _places(self):
        for hook in list(module._hooks.load_post.values()) if module._hooks else ():
            hook(module, keys)
    return keys


def _places(module, prefix=""):
    """Every place in the module, a shared module's too: the prefix of its names, and the module there."""
    yield prefix, module
    for name, each in module._modules.items():
        if each is not None:
            yield from _places(each, f"{prefix}{name}.")


def _match(path, own, given, known, missing, misfits, write):
    known.add(path)
    if path not in given:
        missing.append(path)
        return
    value = given[path]
    try:
        value = _as_tensor(value)
    except (TypeError, ValueError, BufferError) as error:
        misfits.append(f"'{path}' is a {type(value).__name__} in the dict, and no tensor ({error})")
        return
    if _has_no_shape(value) or _has_no_shape(own):
        if not _has_no_shape(own):
            misfits.append(f"'{path}' has shape {list(own.shape)} in the module and none as yet in the dict")
        elif not _has_no_shape(value):
            write(value)
    elif tuple(value.shape) != tuple(own.shape):
        misfits.append(f"'{path}' has shape {list(own.shape)} in the module and {list(value.shape)} in the dict")
    elif _rank(value.dtype) > _rank(own.dtype):
        misfits.append(f"'{path}' is {own.dtype.name} in the module and {value.dtype.name} in the dict")
    else:
        write(value)


def _as_tensor(value):
    if isinstance(value, Tensor):
        return value if isinstance(value, Parameter) or _has_no_shape(value) else value.detach()
    if not hasattr(value, "__dlpack__"):
        raise TypeError("give a tensor, or an array that has __dlpack__")
    if hasattr(value, "detach"):  # PyTorch's refuse DLPack while they require grad
        value = value.detach()
    return _core.as_tensor(value)


def _has_no_shape(tensor):
    """Is it of a lazy layer that was not called?"""
    return getattr(tensor, "is_uninitialized", False)


def _rank(dtype):
    if dtype.is_complex:
        return 3
    return 2 if dtype.is_floating_point else 0 if dtype == _core.bool else 1


def _refuse(module, misfits, missing, unexpected):
    titled = [("differ", misfits), ("missing in the dict", missing), ("unknown to the module", unexpected)]
    text = "".join(f"\n  {title}: {', '.join(names)}" for title, names in titled if names)
    if text:
        raise ValueError(
            f"load_state_dict: the dict does not fit the {module}, and nothing was loaded; load that of a module with the same parts, or pass strict=False to allow other names{text}"
        )


def _write(module, name, value, assign):
    if name is None:
        module.set_extra_state(value)
        return
    own = getattr(module, name)
    if _has_no_shape(own):
        own.materialize(value.shape)
    if not assign:
        own.copy_(value)
    elif isinstance(own, Parameter):
        if not isinstance(value, Parameter):
            value = Parameter(value, own.requires_grad)
        setattr(module, name, value.requires_grad_(own.requires_grad))
    else:
        setattr(module, name, value.detach())
