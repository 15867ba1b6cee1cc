"""One call of compare_opinfo.py: what PyTorch makes of it, and whether what we made of it is the same."""

from types import SimpleNamespace

import torch
from torch.utils._pytree import tree_flatten, tree_map

from functions import FUNCTIONS, RESULTS

# Relative and absolute, where the row's tolerance names no number: sums in another order, and derivatives.
LOOSE = {torch.float64: (1e-9, 1e-9), torch.float32: (2e-5, 2e-5), torch.complex64: (2e-5, 2e-5),
         torch.complex128: (1e-9, 1e-9), torch.float16: (2e-3, 2e-3), torch.bfloat16: (2e-2, 2e-2)}  # fmt: skip
PEER_ULPS = 4  # PyTorch rounds too
# Of equal elements each side may choose another: what the indices show is compared.
CHOICES = {
    **RESULTS,
    "sort": lambda call, values: [values[0], shown(call, values[1])],
    "linalg_eig": lambda call, values: [in_order(values[0])],
    "linalg_eigvals": lambda call, values: [in_order(values[0])],
    "argsort": lambda call, values: [shown(call, values[0])],
}  # fmt: skip
# Vectors whose signs PyTorch leaves open: functions.py turns its to ours.
TURNED = ("linalg_eigh", "linalg_svd")


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
        try:
            return [result.detach() for result in self.call(widened)]
        except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError):
            return None


def compare(case, outcome):
    """(what is wrong with the results, what with the gradients): a sentence, '' or, where nothing was compared, None."""
    if "ended" in outcome or "error" in outcome:
        return outcome.get("ended") or f"refused: {outcome['error']}", None
    problem = compare_results(case, outcome["results"])
    if case.weights is None or (problem and not case.leaves):
        return problem, None
    if "gradient_error" in outcome:
        return problem, f"refused: {outcome['gradient_error']}"
    return problem, compare_gradients(case, outcome["gradients"]) if case.leaves else None


def compare_results(case, ours):
    if not ours:
        return "no results"
    theirs = case.results
    if case.row in CHOICES and len(ours) == len(theirs):
        said = SimpleNamespace(named={"dim": -1, **case.named})
        ours, theirs = (CHOICES[case.row](said, values) for values in (ours, theirs))
    exact = None
    for index, (mine, peer) in enumerate(zip(ours, theirs)):
        wrong = differ(mine, peer, case.tolerance)
        # A product of complex numbers is a sum, so that no row is exact there.
        if wrong and (case.tolerance != "exact" or mine.is_complex()) and is_narrow(mine, peer):
            exact = exact or case.exact()
            if exact and is_as_good(mine, peer, exact[index]):
                wrong = ""
        if wrong:
            return f"result {index}: {wrong}"
    return ""


def is_narrow(ours, theirs):
    return ours.dtype == theirs.dtype and ours.dtype in (torch.float32, torch.complex64) and ours.shape == theirs.shape


def compare_gradients(case, ours):
    for index, (leaf, mine) in enumerate(zip(case.leaves, ours)):
        peer = case.gradients[id(leaf)]
        wrong = differ(torch.zeros_like(peer) if mine is None else mine, peer, "accumulation")
        if wrong:
            return f"gradient {index}: {wrong}"
    return ""


def is_same(ours, theirs):
    """Bit for bit, but for which NaN."""
    same = ours == theirs
    if ours.is_floating_point():
        same &= torch.signbit(ours) == torch.signbit(theirs)
        same |= ours.isnan() & theirs.isnan()
    return same if not ours.is_complex() else is_same(torch.view_as_real(ours), torch.view_as_real(theirs)).all(-1)


def bounds(dtype, tolerance):
    number = str(tolerance).split()[0]
    if number.isdigit() and dtype in LOOSE:
        return (int(number) + PEER_ULPS) * torch.finfo(dtype).eps, 0
    return LOOSE.get(dtype, (0, 0))


def differ(ours, theirs, tolerance):
    """A sentence, or ''."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"{list(ours.shape)} {ours.dtype} instead of {list(theirs.shape)} {theirs.dtype}"
    theirs = theirs.resolve_conj().resolve_neg()
    if tolerance == "exact":
        close = is_same(ours, theirs)
    else:
        relative, absolute = bounds(ours.dtype, tolerance)
        if ours.dtype in (torch.float64, torch.complex128) and theirs.numel():  # terms may have cancelled
            absolute = max(absolute, relative * float(theirs.abs().nan_to_num(0, 0, 0).max()))
        close = torch.isclose(ours, theirs, rtol=relative, atol=absolute, equal_nan=True)
    if bool(close.all()):
        return ""
    at = tuple((~close).nonzero()[0].tolist())
    return f"{ours[at].item()!r} instead of {theirs[at].item()!r} at {list(at)}, {int((~close).sum())} of {close.numel()} differ"


def is_as_good(ours, theirs, exact):
    """Where terms cancel, both are off: ours must not be further from what float64 gives than twice PyTorch's."""
    if exact.shape != ours.shape or not exact.numel():
        return False
    allowed = 2 * (theirs - exact).abs().nan_to_num(0).max() + LOOSE[torch.float32][1] * exact.abs().nan_to_num(0, 0, 0).max()
    both = ours.isnan() & theirs.isnan()
    return bool((((ours - exact).abs() <= allowed) | both | (ours == theirs)).all())
