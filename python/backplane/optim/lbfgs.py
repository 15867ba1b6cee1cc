"""L-BFGS: steps by an estimate of the curvature, made of the last gradients."""

from .. import _core
from ..autograd import enable_grad
from ._line_search import Point, search_line
from ._lists import assign, foreach_add_, real_parts
from .optimizer import Apart, Optimizer, check_not_negative

_rows = _core.operators


def _largest(vector):
    return float(_rows["max"](_rows["abs"](vector))) if vector.numel() else 0.0


def _product(a, b):
    return float(_rows["dot"](a, b))


class LBFGS(Optimizer):
    """Nocedal and Wright, "Numerical Optimization", 2006: algorithm 7.5, and 3.5 and 3.6 for the line search.

    The parameters are one long vector: all are of one device and dtype, in one group. The history is up to history_size
    times twice their memory. `step(closure)` evaluates the closure up to max_eval times; it forgets the gradients,
    computes the loss, goes back, and returns the loss.

    Args:
        line_search_fn: None or "strong_wolfe".

    Raises:
        ValueError: an option is negative, there is a second group, or devices or dtypes differ.
        TypeError: step has no closure, or it does not return a number.
    """

    def __init__(
        self,
        params,
        lr=1.0,
        max_iter=20,
        max_eval=None,
        tolerance_grad=1e-7,
        tolerance_change=1e-9,
        history_size=100,
        line_search_fn=None,
    ):
        super().__init__(
            params,
            dict(
                lr=lr,
                max_iter=max_iter,
                max_eval=max_iter * 5 // 4 if max_eval is None else max_eval,
                tolerance_grad=tolerance_grad,
                tolerance_change=tolerance_change,
                history_size=history_size,
                line_search_fn=line_search_fn,
            ),
        )

    def _check_group(self, group):
        check_not_negative("LBFGS", group, "lr")
        if group["max_iter"] < 1 or group["history_size"] < 1:
            raise ValueError(
                f"LBFGS: max_iter is {group['max_iter']} and history_size {group['history_size']}; both must be at"
                " least 1"
            )
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise ValueError(f"LBFGS: line_search_fn is {group['line_search_fn']!r}; it must be 'strong_wolfe' or None")

    def _check_parameter(self, index, parameter):
        if self.param_groups:
            raise ValueError("LBFGS: its parameters are one vector; pass them in one group")

    def _kept_shape(self, name, parameter):
        return None

    def step(self, closure):
        """Takes up to max_iter iterations, and returns the first loss."""
        if not callable(closure):
            raise TypeError(
                "LBFGS: step needs a closure, which it calls several times: it forgets the gradients, computes the"
                " loss, goes back, and returns the loss"
            )
        group = self.param_groups[0]
        self._check_group(group)
        for hook in list(self._before_step.values()):
            hook(self, (closure,), {})
        run = _Run(group, self.state[group["params"][0]], closure)
        loss = run.step()
        for hook in list(self._after_step.values()):
            hook(self, (closure,), {})
        return loss


class _Run:
    """One step. `state` is PyTorch's: of the first parameter."""

    def __init__(self, group, state, closure):
        self.group, self.state, self.closure = group, state, closure
        self.leaves = group["params"]
        first = self.leaves[0]
        for each in self.leaves:
            if each.device != first.device or each.dtype is not first.dtype:
                raise ValueError(
                    f"LBFGS: parameters are {first.dtype.name} on {first.device} and {each.dtype.name} on"
                    f" {each.device}; move them to one device and dtype"
                )
        self.params = [real_parts(each) for each in self.leaves]
        self.sizes = [each.numel() for each in self.params]
        self.evaluations = 0

    def step(self):
        group, state = self.group, self.state
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = self.evaluate()
        self.count(1)
        if _largest(self.gradient) <= group["tolerance_grad"]:
            return first
        for iteration in range(1, group["max_iter"] + 1):
            with Apart():
                goes_on = self.iterate(iteration == group["max_iter"])
            if not goes_on:
                break
        return first

    def evaluate(self):
        with enable_grad():
            result = self.closure()
        try:
            self.loss = float(result)
        except (TypeError, ValueError):
            raise TypeError(f"LBFGS: the closure must return the loss, one real number, not {result!r}") from None
        with Apart():
            grads = [_rows["zeros_like"](each) if each.grad is None else each.grad for each in self.leaves]
            self.gradient = _rows["cat"]([real_parts(each).reshape(-1) for each in grads])
        return result

    def count(self, more):
        self.evaluations += more
        self.state["func_evals"] += more

    def move(self, t, direction):
        parts = _rows["split_with_sizes"](direction, self.sizes)
        with Apart():
            foreach_add_(self.params, [part.reshape(each.shape) for part, each in zip(parts, self.params)], alpha=t)

    def iterate(self, is_last):
        """False: it was the last."""
        group, state = self.group, self.state
        state["n_iter"] += 1
        if state["n_iter"] == 1:
            state.update(d=-self.gradient, old_dirs=[], old_stps=[], ro=[], H_diag=1)
            state["t"] = min(1.0, 1.0 / float(self.gradient.abs().sum())) * group["lr"]
        else:
            self.remember()
            state.update(d=self.direction(), t=group["lr"])
        state.update(prev_flat_grad=self.gradient, prev_loss=self.loss)
        slope = _product(self.gradient, state["d"])
        if slope > -group["tolerance_change"]:
            return False
        if group["line_search_fn"] is not None:
            self.search(slope)
        else:
            self.move(state["t"], state["d"])
            if is_last:
                return False
            self.evaluate()
            self.count(1)
        return (
            not is_last
            and self.evaluations < group["max_eval"]
            and _largest(self.gradient) > group["tolerance_grad"]
            and _largest(state["d"]) * abs(state["t"]) > group["tolerance_change"]
            and abs(self.loss - state["prev_loss"]) >= group["tolerance_change"]
        )

    def remember(self):
        state = self.state
        change, moved = self.gradient - state["prev_flat_grad"], state["d"] * state["t"]
        ratio = _product(change, moved)
        if not ratio > 1e-10:
            return
        for name, value in (("old_dirs", change), ("old_stps", moved), ("ro", 1.0 / ratio)):
            del state[name][: max(0, len(state[name]) - self.group["history_size"] + 1)]
            state[name].append(value)
        state["H_diag"] = ratio / _product(change, change)

    def direction(self):
        state = self.state
        history = [*zip(state["old_dirs"], state["old_stps"], map(float, state["ro"]))]
        d, weights = -self.gradient, []
        for change, moved, ratio in reversed(history):
            weights.append(_product(moved, d) * ratio)
            d = d - change * weights[-1]
        d = d * float(state["H_diag"])
        for (change, moved, ratio), weight in zip(history, reversed(weights)):
            d = d + moved * (weight - _product(change, d) * ratio)
        return d

    def search(self, slope):
        state, group = self.state, self.group
        with Apart():
            start = [each.detach().clone() for each in self.params]

        def at(t):
            try:
                self.move(t, state["d"])
                self.evaluate()
            finally:
                with Apart():
                    assign(self.params, start)
            return Point(t, self.loss, _product(self.gradient, state["d"]), self.gradient)

        found, evaluations = search_line(
            at,
            Point(0.0, self.loss, slope, self.gradient),
            state["t"],
            _largest(state["d"]),
            group["tolerance_change"],
            group["max_eval"] - self.evaluations,
        )
        self.loss, self.gradient, state["t"] = found.loss, found.gradient, found.t
        self.move(found.t, state["d"])
        self.count(evaluations)
