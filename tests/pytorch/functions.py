"""How PyTorch says what a row says, where a function of the row's name and arguments would not do."""

import math

import torch
import torch.nn.functional as F

# Rows that PyTorch has nothing to hold against, and what holds them.
WITHOUT_PEER = {
    "empty": "its values are not defined",
    "empty_like": "its values are not defined",
    "philox": "known answers of the Philox paper: tests/core_ops/random_test.cpp",
    "rand_philox": "defined by philox",
    "randn_philox": "defined by philox",
    "rand": "another generator: its distribution is tested",
    "randn": "another generator: its distribution is tested",
    "randint": "another generator: its distribution is tested",
    "randperm": "another generator: its distribution is tested",
    "dropout": "another generator: its distribution is tested",
    "bernoulli": "another generator: its distribution is tested",
    "multinomial": "another generator: its distribution is tested",
    "normal": "another generator: its distribution is tested",
    "attention_backward": "scaled_dot_product_attention's derivative",
    "attention_mask_backward": "scaled_dot_product_attention's derivative",
    "norm_backward": "layer_norm's and rms_norm's derivative",
    "norm_weight_backward": "layer_norm's and rms_norm's derivative",
    "norm_gradients": "layer_norm's and rms_norm's derivative",
    "batch_norm_backward": "batch_norm's derivative",
    "convolution_backward_weight": "convolution's derivative",
    "avg_pool_backward": "avg_pool's derivative",
}


# Where we differ on purpose: row, recipe ("" for all), what, why.
KNOWN = [
    ("scatter", "", "derivative", "of several elements for one place, those that lost get no gradient"),
    ("index_put", "", "derivative", "the same"),
    ("kl_div", "", "derivative by tensor 1", "finite where the target is 0; below 0 nothing is defined"),
    ("topk", "", "derivative", "of equal elements each may choose another; gradcheck holds it on distinct ones"),
    ("div", "several_tiles", "derivative", "complex, by zero"),
    ("hardsigmoid", "", "derivative", "1/6 in float64 is not that of float32"),
    ("gelu", "specials", "result", "infinity stays infinity"),
    ("add", "specials", "result", "a complex infinity times an alpha of 1 is itself"),
    ("sub", "specials", "result", "the same"),
    ("convolution", "no_channels", "", "without input channels the result is the bias"),
]

# What of the results says the same on both sides: of equal elements, each may choose another.
RESULTS = {
    "topk": lambda call, values: [values[0], call.named["a"].detach().gather(call.named.get("dim", -1), values[1]), *values[2:]]
    if values[1].dim() else values,
}


def all_dims(a, dim):
    return list(range(a.dim())) if dim is None else dim


def over_dims(function):
    """For functions that take no dim=None."""
    return lambda a, dim=None, keepdim=False: function(a, all_dims(a, dim), keepdim)


def slice_(a, dim=0, start=None, end=None, step=1):
    if a.dim() == 0:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    places = [slice(None)] * a.dim()
    places[dim] = slice(start, end, step)
    return a[tuple(places)]


def prod(a, dim=None, keepdim=False, dtype=None):
    if dim is None:
        result = torch.prod(a, dtype=dtype)
        return result.reshape([1] * a.dim()) if keepdim else result
    for d in sorted((d % max(a.dim(), 1) for d in dim), reverse=True):
        a = torch.prod(a, d, keepdim, dtype=dtype)
    return a


def arg_reduction(function):
    return lambda a, dim=None, keepdim=False: function(a, dim, keepdim)


def convolution(a, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    rank = a.dim() - 2
    full = [values * rank if len(values) == 1 else values for values in (stride, padding, dilation, output_padding)]
    stride, padding, dilation, output_padding = full
    return torch.convolution(a, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def dot_product(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    return F.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale,
                                          enable_gqa=enable_gqa)


def native_attention(query, key, value, attn_mask, is_causal, scale):
    scores = query @ key.transpose(-1, -2) * scale
    if is_causal:
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~allowed, -math.inf)
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    result = F.scaled_dot_product_attention(query, key, value, attn_mask, 0.0, is_causal, scale=scale)
    return result, torch.logsumexp(scores, -1)


def by_rank(name):
    """F.name1d to 3d, by the rank of the input; one size stands for all."""
    def call(a, *args, output_size=None, **more):
        rank = a.dim() - 2
        if output_size is not None:
            args = (output_size * rank if len(output_size) == 1 else output_size, *args)
        if more.get("stride") == []:
            more["stride"] = None
        if rank == 1 and more.pop("divisor_override", None) is not None:
            raise ValueError("avg_pool1d takes no divisor_override")
        return getattr(F, f"{name}{rank}d")(a, *args, **more)
    return call


def adaptive(name, rank):
    return lambda a, output_size: getattr(F, name)(a, output_size * rank if len(output_size) == 1 else output_size)


def statistics_of_norm(a, normalized_shape):
    dims = list(range(a.dim() - len(normalized_shape), a.dim()))
    return a.mean(dims, True), a.var(dims, correction=0, keepdim=True), (a * a).mean(dims, True)


def native_layer_norm(a, normalized_shape, weight=None, bias=None, eps=1e-5):
    mean, variance, _ = statistics_of_norm(a, normalized_shape)
    return F.layer_norm(a, normalized_shape, weight, bias, eps), mean, (variance + eps).rsqrt()


def native_rms_norm(a, normalized_shape, weight, eps):
    square = statistics_of_norm(a, normalized_shape)[2]
    return F.rms_norm(a, normalized_shape, weight, eps), (square + eps).rsqrt()


def native_batch_norm(a, weight, bias, eps):
    dims = [d for d in range(a.dim()) if d != 1]
    return F.batch_norm(a, None, None, weight, bias, True, 0.1, eps), a.mean(dims), a.var(dims, correction=0)


def batch_norm(a, weight, bias, running_mean, running_var, training, momentum, eps):
    return F.batch_norm(a, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(a, weight=None, bias=None, running_mean=None, running_var=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    return F.instance_norm(a, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def variance(function):
    return lambda a, dim=None, correction=1, keepdim=False: function(a, dim, correction=correction, keepdim=keepdim)


def made(function):
    """Factories, which take an absent dtype as their own default."""
    return lambda *args, dtype=None, **more: function(*args, *more.values(), **({"dtype": dtype} if dtype else {}))


FUNCTIONS = {
    "max_pool_with_indices": lambda **given: by_rank("max_pool")(return_indices=True, **given),
    "avg_pool": by_rank("avg_pool"),
    "adaptive_max_pool_with_indices": lambda **given: by_rank("adaptive_max_pool")(return_indices=True, **given),
    **{f"adaptive_{kind}_pool{rank}d": adaptive(f"adaptive_{kind}_pool{rank}d", rank)
       for kind in ("max", "avg") for rank in (1, 2, 3)},
    "view": lambda a, size: a.reshape(size),
    "copy": lambda a: a.clone(),
    "cast": lambda a, dtype: a.to(dtype),
    "slice": slice_,
    "expand": lambda a, size: a.expand(size),
    "unfold": lambda a, dim, size, step: a.unfold(dim, size, step),
    "as_strided": lambda a, size, stride, storage_offset=None: torch.as_strided(a, size, stride, storage_offset or 0),
    "squeeze": lambda a, dim=None: a.squeeze() if dim is None else a.squeeze(dim),
    "max": over_dims(torch.amax),
    "min": over_dims(torch.amin),
    "any": over_dims(torch.any),
    "all": over_dims(torch.all),
    "logsumexp": over_dims(torch.logsumexp),
    "prod": prod,
    "var": variance(torch.var),
    "std": variance(torch.std),
    "norm": lambda a, p=2, dim=None, keepdim=False: torch.linalg.vector_norm(a, p, dim, keepdim),
    "argmax": arg_reduction(torch.argmax),
    "argmin": arg_reduction(torch.argmin),
    "one_hot": lambda a, num_classes=-1: F.one_hot(a.long(), num_classes),
    "add": lambda a, b, alpha=1: torch.add(torch.as_tensor(a), b, alpha=alpha),
    "sub": lambda a, b, alpha=1: torch.sub(torch.as_tensor(a), b, alpha=alpha),
    "maximum": lambda a, b: torch.maximum(a, torch.as_tensor(b)),
    "minimum": lambda a, b: torch.minimum(a, torch.as_tensor(b)),
    "gelu_tanh": lambda a: F.gelu(a, approximate="tanh"),
    "full": made(torch.full),
    "arange": made(torch.arange),
    "zeros": made(torch.zeros),
    "ones": made(torch.ones),
    "sort": lambda a, dim=-1, descending=False, stable=True: torch.sort(a, dim=dim, descending=descending, stable=True),
    "embedding": lambda weight, indices, padding_idx=-1: F.embedding(
        indices, weight, None if padding_idx < 0 else padding_idx),
    "index_put": lambda a, indices, values, accumulate=False: torch.index_put(a, tuple(indices), values, accumulate),
    "einsum": lambda equation, operands: torch.einsum(equation, *operands),
    "repeat": lambda a, repeats: a.repeat(repeats),
    "pad": lambda a, pad, mode="constant", value=None: F.pad(a, pad, mode, value),
    "addmm": lambda a, mat1, mat2, beta=1, alpha=1: torch.addmm(a, mat1, mat2, beta=beta, alpha=alpha),
    "baddbmm": lambda a, batch1, batch2, beta=1, alpha=1: torch.baddbmm(a, batch1, batch2, beta=beta, alpha=alpha),
    "linear": lambda a, weight, bias=None: F.linear(a, weight, bias),
    "convolution": convolution,
    "scaled_dot_product_attention": dot_product,
    "native_attention": native_attention,
    "layer_norm": lambda a, normalized_shape, weight=None, bias=None, eps=1e-5: F.layer_norm(
        a, normalized_shape, weight, bias, eps),
    "native_layer_norm": native_layer_norm,
    "native_rms_norm": native_rms_norm,
    "native_batch_norm": native_batch_norm,
    "batch_norm": batch_norm,
    "instance_norm": instance_norm,
    **{name: getattr(F, name) for name in (
        "mse_loss", "l1_loss", "smooth_l1_loss", "binary_cross_entropy_with_logits", "kl_div", "nll_loss", "cross_entropy")},
}


def function_of(row):
    """What PyTorch calls the row; None if nothing."""
    if row in FUNCTIONS:
        return FUNCTIONS[row]
    for place in (torch, F, torch.special):
        if hasattr(place, row):
            return getattr(place, row)
    return None
