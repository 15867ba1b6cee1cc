"""OpInfo's own samples, those of the wheel torch, on a device against PyTorch's CPU: the cases of `backplane conform --through pytorch`.

A case is an operator in a dtype, forward or backward: pytorch:nn.functional.gelu[f32], pytorch:nn.functional.gelu[f32]/backward."""

import importlib.util

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as tree

SHORT = {"float32": "f32", "float64": "f64", "int64": "i64", "bool": "bool", "bfloat16": "bf16"}
MORE = {"float16": "f16", "int8": "i8", "int16": "i16", "int32": "i32", "uint8": "u8", "complex64": "c64"}
# By profile: dtypes, those with derivatives, samples.
PROFILES = {
    "quick": ({"float32": "f32"}, (), 4),
    "normal": (SHORT, ("float32",), 12),
    "full": (SHORT | MORE, ("float32", "float64"), 1000),
}
_found = {}

SKIPPED = {  # results that are random, or not defined, or about something else than values
    "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "bernoulli", "cauchy",
    "exponential", "geometric", "log_normal", "multinomial", "normal", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "uniform", "nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d",
    "nn.functional.alpha_dropout", "nn.functional.feature_alpha_dropout", "nn.functional.rrelu", "pca_lowrank",
    "svd_lowrank", "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d", "randperm", "rand",
    "nn.functional.multi_head_attention_forward", "to_sparse", "sparse.sampled_addmm", "sparse.mm", "resize_",
    "resize_as_", "normal.number_mean",
    # eigenvectors have any phase; PyTorch needs indices of tensor_split on the CPU
    "linalg.eig", "linalg.eigvals", "linalg.eigh", "tensor_split", "torch.ops.aten._flash_attention_forward",
    "torch.ops.aten._efficient_attention_forward", "signal.windows",
}  # fmt: skip
MAX_SAMPLES = 12
# Which of equal elements is named is nobody's promise: their values alone are compared.
TIES = {"sort", "topk", "kthvalue", "mode", "msort", "argsort"}
# Derivatives that PyTorch computes by a formula that loses digits on every device, its own CPU included: that of logcumsumexp is exp() of a
# difference of logarithms, and near 10,000, as in its samples, float32 has three digits behind the point. There our error may be a few of
# PyTorch's: its CPU rounds a running sum once, from float64, while a device that sums in log2(n) levels rounds in each.
COARSE_DERIVATIVES = {"logcumsumexp"}
OWN_ERRORS = 4
# How far PyTorch's results are off in float64 as well: bessel_j0(-5.421528) is -0.033781313, and PyTorch's -0.033781502.
PYTORCH_IS_OFF = {f"special.bessel_{kind}": 1e-6 for kind in ("j0", "j1", "y0", "y1")}


def close(ours, theirs, dtype, is_norm=False, allowance=0.0):
    """Raises where they are not. `allowance` is added to `atol`. Floating results may differ by `rtol` of each element and `atol` of the largest (of 1 at least): an
    element that is small beside others is held to no more than these, since sums of large terms lose what they lose."""
    ours, theirs = tree.tree_leaves(ours), tree.tree_leaves(theirs)
    if len(ours) != len(theirs):
        raise AssertionError(f"{len(ours)} results and not {len(theirs)}")
    tolerances = {torch.float32: (1e-4, 5e-5), torch.float64: (1e-7, 1e-8), torch.bfloat16: (2e-2, 2e-2), torch.complex64: (1e-4, 2e-5)}
    for ours_part, theirs_part in zip(ours, theirs):
        if isinstance(theirs_part, torch.Tensor):
            rtol, atol = tolerances.get(theirs_part.dtype, (1e-5, 1e-6))
            if dtype == torch.bfloat16:
                rtol, atol = 3e-2, 3e-2
                if is_norm and ours_part.dtype == torch.float32:  # as CUDA, we keep statistics of norms in it
                    theirs_part = theirs_part.to(torch.float32)
            if theirs_part.is_floating_point() and theirs_part.numel():
                atol *= max(1.0, theirs_part.detach().abs().nan_to_num(0, 0, 0).max().item())
            torch.testing.assert_close(ours_part.detach().cpu(), theirs_part.detach().cpu(), rtol=rtol, atol=atol + allowance, equal_nan=True)
        elif ours_part != theirs_part and not (ours_part != ours_part and theirs_part != theirs_part):
            raise AssertionError(f"{ours_part} and not {theirs_part}")


def moved(value, device):
    def move(leaf):
        if isinstance(leaf, torch.Tensor):
            return leaf.detach().to(device).requires_grad_(leaf.requires_grad)
        is_device = isinstance(leaf, torch.device) or (isinstance(leaf, str) and leaf.startswith("cuda"))  # where PyTorch sees a card
        return torch.device(device) if is_device else leaf

    return tree.tree_map(move, value)


def widened(value):
    wider = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64, torch.complex64: torch.complex128}

    def widen(leaf):
        if isinstance(leaf, torch.Tensor):
            return leaf.detach().to(wider.get(leaf.dtype, leaf.dtype)).requires_grad_(leaf.requires_grad)
        return wider.get(leaf, leaf) if isinstance(leaf, torch.dtype) else leaf

    return tree.tree_map(widen, value)


def without_own_errors(ours, theirs, exact):
    """`theirs`, PyTorch's results, with our elements where these are nearer to `exact`, PyTorch's in float64: such a difference is its error.
    What is left to compare is where we are further away."""
    def distance(part, exact_part):
        same = (part == exact_part) | (part.isnan() & exact_part.isnan())  # infinities, too
        return (part - exact_part).abs().nan_to_num(float("inf"), float("inf")).masked_fill(same, 0)

    def nearer(mine, other, truth):
        if not all(isinstance(part, torch.Tensor) for part in (mine, other, truth)) or not mine.shape == other.shape == truth.shape:
            return other
        mine, other = mine.detach().cpu(), other.detach().cpu()
        wide = [part.to(torch.complex128) for part in (mine, other, truth.detach())]
        return torch.where(distance(wide[0], wide[2]) < distance(wide[1], wide[2]), mine.to(other.dtype), other)

    parts = [tree.tree_leaves(value) for value in (ours, theirs, exact)]
    return [nearer(*each) for each in zip(*parts)] if len({len(each) for each in parts}) == 1 else theirs


def greatest_error(theirs, exact):
    """How far PyTorch's results are from those in float64, where both are finite."""
    pairs = zip(tree.tree_leaves(theirs), tree.tree_leaves(exact))
    errors = [(part.detach() - truth.detach()).abs().nan_to_num(0, 0, 0) for part, truth in pairs if part.numel()]
    return max((error.max().item() for error in errors), default=0.0)


def allowance_for(op, backward, expected, exact):
    """What our results may differ by besides, because of PyTorch's own errors."""
    if backward and op.name in COARSE_DERIVATIVES:
        return OWN_ERRORS * greatest_error(expected, exact)
    return PYTORCH_IS_OFF.get(op.name, 0.0)


def values_of(op, result, arguments):
    """Of an operator of TIES: the values, without their places."""
    if op.name != "argsort":
        return result[0] if isinstance(result, tuple) else result
    values, given, options = arguments
    dim = options.get("dim", given[0] if given and not isinstance(given[0], bool) else -1)
    return values.gather(dim, result) if values.dim() else values


def gradients(result, inputs):
    outputs = [leaf for leaf in tree.tree_leaves(result) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    leaves = [leaf for leaf in tree.tree_leaves(inputs) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    if not outputs or not leaves:
        return []
    weights = []
    for number, output in enumerate(outputs):
        made = torch.Generator().manual_seed(number)
        weights.append(torch.randn(output.shape, generator=made, dtype=torch.float64).to(output.dtype).to(output.device))
    found = torch.autograd.grad(outputs, leaves, weights, allow_unused=True)
    return [torch.zeros(()) if gradient is None else gradient for gradient in found]


def in_float64(op, arguments, backward):
    """What PyTorch's CPU computes of the same sample in float64; [] where it does not."""
    wide = widened(arguments)
    try:
        result = op.op(wide[0], *wide[1], **wide[2])
        if backward:
            return gradients(result, wide)
        return values_of(op, result, wide) if op.name in TIES else result
    except Exception:  # noqa: BLE001 float64 is only asked whose error it is
        return []


def try_operator(bridge, op, dtype, device, backward, most=MAX_SAMPLES):
    """(samples, wrong samples with their errors, operators of PyTorch's CPU, operators of Backplane's host)."""
    wrong, count, host = [], 0, set()
    bridge.reset_cpu_calls()
    torch.manual_seed(0)
    for sample in op.sample_inputs("cpu", dtype, requires_grad=backward):
        if count == most:
            break
        if sample.kwargs.get("dropout_p"):
            continue
        arguments = (sample.input, sample.args, sample.kwargs)
        try:
            ours_arguments = moved(arguments, device)
            expected = op.op(sample.input, *sample.args, **sample.kwargs)
            if backward:
                expected = gradients(expected, arguments)
        except Exception:  # noqa: BLE001 what PyTorch's CPU does not do is not asked of us
            continue
        count += 1
        bridge.reset_calls()
        try:
            result = op.op(ours_arguments[0], *ours_arguments[1], **ours_arguments[2])
            if backward:
                result = gradients(result, ours_arguments)
            host.update(bridge.host_calls())
            if op.name in TIES and not backward:
                result, expected = values_of(op, result, ours_arguments), values_of(op, expected, arguments)
            try:
                close(result, expected, dtype, "norm" in op.name)
            except AssertionError:
                exact = in_float64(op, arguments, backward)
                allowance = allowance_for(op, backward, expected, exact)
                close(result, without_own_errors(result, expected, exact), dtype, "norm" in op.name, allowance)
        except Exception as error:  # noqa: BLE001
            wrong.append(f"{type(error).__name__}: {str(error)[:300]}")
    return count, wrong, sorted(bridge.cpu_calls()), sorted(host)

# What backplane_torch says of complex32, which `chalf` makes.
LACKS_DTYPE = "NotImplementedError: backplane: no tensors of dtype"


def load():
    """Finds all that needs no device: a process that is forked afterwards opens it. Raises ImportError."""
    if importlib.util.find_spec("backplane_torch") is None:
        raise ImportError("No module named 'backplane_torch'")
    torch.set_num_threads(1)


def versions():
    return {"torch": torch.__version__}


def is_compared(name, variant):
    skipped = name in SKIPPED or name.startswith(("signal.", "_refs"))
    return not skipped and variant != "partial_views"  # of a storage that does not come along


def problem_of(device):
    import backplane_torch

    known = backplane_torch.devices()
    return None if device in known else f"PyTorch has no {device}; backplane_torch.devices() are {', '.join(known)}"


def cases(profile):
    """[(operator, its cases)], which `run` then takes."""
    dtypes, derivatives, most = PROFILES[profile]
    groups = []
    for op in op_db:
        if not is_compared(op.name, op.variant_test_name):
            continue
        name = op.name + ("." if op.variant_test_name else "") + op.variant_test_name
        group = []
        for dtype, short in dtypes.items():
            if getattr(torch, dtype) in op.dtypes:
                group.append((f"pytorch:{name}[{short}]", (op, dtype, False, most)))
            if dtype in derivatives and op.supports_autograd and getattr(torch, dtype) in op.backward_dtypes:
                group.append((f"pytorch:{name}[{short}]/backward", (op, dtype, True, most)))
        _found.update(group)
        groups.append((name, [case for case, _ in group]))
    return groups


def run(case, device):
    import backplane_torch

    op, dtype, backward, most = _found[case]
    place = f"backplane:{backplane_torch.devices().index(device)}"
    count, wrong, cpu, host = try_operator(backplane_torch, op, getattr(torch, dtype), place, backward, most)
    if wrong and all(LACKS_DTYPE in each for each in wrong):  # no plugin can have it
        return {"outcome": "unsupported", "why": wrong[0]}
    if wrong:
        return {"outcome": "fail", "why": f"{len(wrong)} of {count} samples: {' '.join(wrong[0].split())}"}
    if not count:
        return {"outcome": "unsupported", "why": "PyTorch's CPU computes none of these samples"}
    return {"outcome": "pass", "rung": "host" if cpu or host else "native", "by_cpu": cpu, "by_host": host}
