"""One call of compare_opinfo.py: what PyTorch makes of it, and whether what we made of it is the same."""

from dataclasses import dataclass
from types import SimpleNamespace

import torch
from torch.utils._pytree import tree_flatten, tree_map

from functions import FUNCTIONS, RESULTS
from judge import closeness, described, is_as_good

# Of equal elements each side may choose another: what the indices show is compared.
CHOICES = {
    **RESULTS,
    "sort": lambda call, values: [values[0], shown(call, values[1])],
    "linalg_eig": lambda call, values: [in_order(values[0])],
    "linalg_eigvals": lambda call, values: [in_order(values[0])],
    "argsort": lambda call, values: [shown(call, values[0])],
}  # fmt: skip
# What PyTorch leaves open, signs and order: functions.py turns its to ours.
TURNED = ("linalg_eigh", "linalg_svd", "linalg_eigvals")


@dataclass
class Difference:
    what: str  # result | gradient
    index: int
    says: str
    ours: torch.Tensor = None  # nothing where it is an error
    theirs: torch.Tensor = None
    close: torch.Tensor = None  # which elements agree; nothing where the shapes or dtypes differ

    def __str__(self):
        return self.says if self.ours is None else f"{self.what} {self.index}: {self.says}"


def in_order(numbers):
    """Complex numbers in an order that rounding does not change much."""
    places = (numbers.real + numbers.imag / 7).argsort(-1)
    return numbers.gather(-1, places)


def shown(call, indices):
    input = call.named["input"].detach()
    return input.gather(call.named["dim"], indices) if input.dim() else input


def twin(value):
    """A tensor in memory of its own that lies as the other does."""
    if not isinstance(value, torch.Tensor):
        return value
    made = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).copy_(value.detach()) if is_dense(value) \
        else value.detach().clone()  # fmt: skip
    return made.requires_grad_(value.requires_grad)


def is_dense(value):
    return all(stride > 0 for size, stride in zip(value.shape, value.stride()) if size > 1)


def widened(value):
    wide = {torch.float32: torch.float64, torch.complex64: torch.complex128}
    if isinstance(value, torch.Tensor):
        return value.to(wide.get(value.dtype, value.dtype))
    return wide.get(value, value) if isinstance(value, torch.dtype) else value


class Case:
    def __init__(self, op, row, named, sample, dtype, where, tolerance):
        self.op, self.row, self.given, self.where, self.tolerance = op, row, named, where, tolerance
        self.inputs = (sample.input, tuple(sample.args), dict(sample.kwargs))
        self.dtype = str(dtype).removeprefix("torch.")
        self.named = {name: value for name, (_, value) in named.items()}
        self.leaves, self.weights, self.results, self.gradients = [], None, [], {}
        tensors = [one for one in tree_flatten(self.inputs)[0] if isinstance(one, torch.Tensor)]
        self.num_elements = sum(tensor.numel() for tensor in tensors)
        self.wanted = [tensor for tensor in tensors if tensor.requires_grad]

    def is_leaf(self, tensor):
        return self.weights is not None and any(tensor is one for one in self.wanted)

    def call(self, change):
        if self.row in TURNED:
            results = FUNCTIONS[self.row](**tree_map(change, self.named))
        else:
            input, places, keywords = tree_map(change, self.inputs)
            results = self.op(input, *places, **keywords)
        results = [torch.tensor(one) if isinstance(one, bool) else one for one in tree_flatten(results)[0]]
        return [one for one in results if isinstance(one, torch.Tensor)]

    def ask_pytorch(self):
        """False if it refuses."""
        twins = {}

        def change(value):
            if id(value) not in twins:
                twins[id(value)] = twin(value)
            return twins[id(value)]

        try:
            results = self.call(change)
        except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError):
            return False
        self.results = [result.detach() for result in results]
        if not self.wanted or not any(result.requires_grad for result in results):
            return bool(results)
        self.derive(results, [twins[id(leaf)] for leaf in self.wanted])
        return True

    def derive(self, results, leaves):
        drawn = torch.Generator().manual_seed(1)
        weights = [torch.randn(result.shape, dtype=result.dtype, generator=drawn) if result.requires_grad else None for result in results]
        pairs = [(result, weight) for result, weight in zip(results, weights) if weight is not None]
        try:
            gradients = torch.autograd.grad(
                [result for result, _ in pairs], leaves, [weight for _, weight in pairs], allow_unused=True)  # fmt: skip
        except RuntimeError:  # no derivative there
            return
        self.weights = weights
        self.gradients = {id(leaf): torch.zeros_like(leaf) if one is None else one for leaf, one in zip(self.wanted, gradients)}

    def exact(self):
        """The results in float64 and complex128, to see who is nearer; None if PyTorch has none."""
        torch.set_default_dtype(torch.float64)  # what whole numbers become
        try:
            return [result.detach() for result in self.call(widened)]
        except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError):
            return None
        finally:
            torch.set_default_dtype(torch.float32)


def compare(case, outcome):
    """(what differs of the results, what of the gradients): lists of Differences or, where nothing was compared, None."""
    if "ended" in outcome or "error" in outcome:
        return refused("result", outcome.get("ended") or f"refused: {outcome['error']}"), None
    found = compare_results(case, outcome["results"])
    if case.weights is None or not case.leaves:
        return found, None
    if "gradient_error" in outcome:
        return found, refused("gradient", f"refused: {outcome['gradient_error']}")
    return found, compare_gradients(case, outcome["gradients"])


def refused(what, says):
    return [Difference(what, 0, says)]


def compare_results(case, ours):
    if not ours:
        return refused("result", "no results")
    theirs = case.results
    choose = CHOICES.get(case.row) if len(ours) == len(theirs) else None
    said = SimpleNamespace(named={"dim": -1, **case.named})
    if choose:
        ours, theirs = choose(said, ours), choose(said, theirs)
    found, exact = [], None
    for index, (mine, peer) in enumerate(zip(ours, theirs)):
        close = closeness(mine, peer, case.tolerance, by_largest=True)
        # A product of complex numbers is a sum, and their size a root of one, so that no row is exact there.
        is_rounded = case.tolerance != "exact" or case.dtype.startswith("complex")
        if close is not None and not close.all() and is_narrow(mine) and is_rounded:
            exact = exact or case.exact()
            chosen = choose(said, exact) if choose and exact else exact
            as_good = is_as_good(mine, peer, chosen[index], case.tolerance) if exact else None
            close = close if as_good is None else close | as_good
        if says := described(mine, peer, close):
            found.append(Difference("result", index, says, mine, peer, close))
    return found


def is_narrow(values):
    return values.dtype in (torch.float32, torch.complex64)


def compare_gradients(case, ours):
    found = []
    for index, (leaf, mine) in enumerate(zip(case.leaves, ours)):
        peer = case.gradients[id(leaf)]
        mine = torch.zeros_like(peer) if mine is None else mine
        close = closeness(mine, peer, "accumulation", by_largest=True)
        if says := described(mine, peer, close):
            found.append(Difference("gradient", index, says, mine, peer, close))
    return found
