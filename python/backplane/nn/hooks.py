"""Hooks of modules: functions that are called before and after forward, on the way back, and around state dicts."""

import itertools
import threading

from .. import autograd
from .._core import Tensor

__all__ = ["HookMethods", "RemovableHandle"]

_ids = itertools.count()


class RemovableHandle:
    """What registering a hook returns: remove() takes the hook away, as leaving a with statement does."""

    def __init__(self, hooks, id):
        self._hooks, self.id = hooks, id

    def remove(self):
        self._hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


class Hooks:
    """All hooks of one module. Each dict is by the handles' numbers, in the order of calling."""

    def __init__(self):
        self.forward_pre, self.forward, self.backward_pre, self.backward = {}, {}, {}, {}
        self.state_dict_pre, self.state_dict_post, self.load_pre, self.load_post = {}, {}, {}, {}


class HookMethods:
    """What Module inherits to register hooks."""

    def _register(self, where, hook, *how, prepend=False):
        if not callable(hook):
            raise TypeError(f"a {where} hook must be callable, and {type(hook).__name__} is not")
        if self._hooks is None:
            self.__dict__["_hooks"] = Hooks()
        hooks = getattr(self._hooks, where)
        id = next(_ids)
        before = dict(hooks) if prepend else {}
        if prepend:
            hooks.clear()
        hooks[id] = (hook, *how) if how else hook
        hooks.update(before)
        return RemovableHandle(hooks, id)

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """hook(module, args) is called before forward, and may return other arguments.

        With `with_kwargs` it is hook(module, args, kwargs), which returns None or both.
        """
        return self._register("forward_pre", hook, with_kwargs, prepend=prepend)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """hook(module, args, output) is called after forward, and may return another output.

        With `with_kwargs` it is hook(module, args, kwargs, output). With `always_call` it is called after an error as
        well.
        """
        return self._register("forward", hook, with_kwargs, always_call, prepend=prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """hook(module, grad_input, grad_output) sees derivatives by inputs and outputs, and may replace those by
        inputs.
        """
        return self._register("backward", hook, prepend=prepend)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """hook(module, grad_output) sees the derivatives by the outputs first, and may return others."""
        return self._register("backward_pre", hook, prepend=prepend)

    def register_state_dict_pre_hook(self, hook):
        """hook(module, prefix, keep_vars) is called before the module's tensors are put into a state dict."""
        return self._register("state_dict_pre", hook)

    def register_state_dict_post_hook(self, hook):
        """hook(module, state_dict, prefix, local_metadata) is called after that, and may change the dict."""
        return self._register("state_dict_post", hook)

    def register_load_state_dict_pre_hook(self, hook):
        """The hook may change the dict before anything is compared or loaded.

        It is called as hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs). The dict is a copy; the three lists are for names and messages of its own.
        """
        return self._register("load_pre", hook)

    def register_load_state_dict_post_hook(self, hook):
        """hook(module, incompatible_keys) is called when all has been loaded, and may change the two lists."""
        return self._register("load_post", hook)


def call(module, args, keywords):
    """Calls forward with the module's hooks."""
    hooks = module._hooks
    for hook, with_keywords in list(hooks.forward_pre.values()):
        if with_keywords:
            given = hook(module, args, keywords)
            if given is not None:
                if not isinstance(given, tuple) or len(given) != 2:
                    raise TypeError(
                        f"{type(module).__name__}: a forward pre-hook with kwargs returns None or (args, kwargs), "
                        f"not {type(given).__name__}"
                    )
                args, keywords = given
        else:
            given = hook(module, args)
            if given is not None:
                args = given if isinstance(given, tuple) else (given,)
    watch = _Watch(module, hooks) if hooks.backward or hooks.backward_pre else None
    if watch:
        args = watch.inputs(args)
    called = set()
    try:
        output = module.forward(*args, **keywords)
        for id, (hook, with_keywords, _) in list(hooks.forward.items()):
            called.add(id)
            given = hook(module, args, keywords, output) if with_keywords else hook(module, args, output)
            if given is not None:
                output = given
    except Exception:
        for id, (hook, with_keywords, always) in list(hooks.forward.items()):
            if always and id not in called:
                hook(module, args, keywords, None) if with_keywords else hook(module, args, None)
        raise
    return watch.outputs(output) if watch else output


class _Pass(autograd.Function):
    """Computes nothing, and calls `watch` with the gradients on the way back."""

    @staticmethod
    def forward(ctx, back, *tensors):
        ctx.back = back
        return tensors

    @staticmethod
    def backward(ctx, *gradients):
        return (None, *ctx.back(gradients))


class _Watch:
    """Inputs and outputs go through a function each that computes nothing.

    On the way back that of the outputs comes first, and leaves their gradients here for that of the inputs.
    """

    def __init__(self, module, hooks):
        self.module = module
        self.pre, self.hooks = list(hooks.backward_pre.values()), list(hooks.backward.values())
        self.watched_inputs = self.watched_outputs = ()
        self.num_inputs = self.num_outputs = 0
        self.by_outputs = {}  # by thread, since several may go back through one record at once

    def inputs(self, args):
        self.num_inputs = len(args)
        args, self.watched_inputs = self._pass(args, self.at_inputs)
        return args

    def outputs(self, output):
        many = output if isinstance(output, (tuple, list)) else (output,)
        self.num_outputs = len(many)
        passed, self.watched_outputs = self._pass(many, self.at_outputs)
        if many is not output:
            return passed[0]
        if not self.watched_outputs:
            return output
        if hasattr(output, "_fields"):
            return type(output)(*passed)
        return type(output)(passed)

    @staticmethod
    def _pass(values, back):
        if not autograd.is_grad_enabled():
            return values, ()
        watched = [i for i, each in enumerate(values) if isinstance(each, Tensor) and each.requires_grad]
        if not watched:
            return values, ()
        values = list(values)
        for i, passed in zip(watched, _Pass.apply(back, *(values[i] for i in watched))):
            values[i] = passed
        return tuple(values), watched

    def at_outputs(self, gradients):
        gradients = _spread(gradients, self.watched_outputs, self.num_outputs)
        for hook in self.pre:
            gradients = _replaced(gradients, hook(self.module, gradients), "full backward pre-hook")
        if self.watched_inputs:
            self.by_outputs[threading.get_ident()] = gradients
        else:
            for hook in self.hooks:
                if hook(self.module, (None,) * self.num_inputs, gradients) is not None:
                    raise ValueError(
                        "full backward hook: no input of the module requires grad, so there is no gradient to replace; return None"
                    )
        return [gradients[i] for i in self.watched_outputs]

    def at_inputs(self, gradients):
        by_outputs = self.by_outputs.pop(threading.get_ident(), None)
        if by_outputs is None:  # it did not come through the outputs: a derivative of a derivative
            return gradients
        gradients = _spread(gradients, self.watched_inputs, self.num_inputs)
        for hook in self.hooks:
            gradients = _replaced(gradients, hook(self.module, gradients, by_outputs), "full backward hook")
        return [gradients[i] for i in self.watched_inputs]


def _spread(gradients, places, size):
    spread = [None] * size
    for place, gradient in zip(places, gradients):
        spread[place] = gradient
    return tuple(spread)


def _replaced(gradients, given, what):
    if given is None:
        return gradients
    given = given if isinstance(given, tuple) else (given,)
    if len(given) != len(gradients):
        raise ValueError(f"{what}: it returned {len(given)} gradients for {len(gradients)}; return as many, or None")
    return given
