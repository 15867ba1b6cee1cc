"""How PyTorch says what a row says, where a function of the row's name and arguments would not do."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from schemas import arguments_of

# What of the results says the same on both sides: of equal elements, each may choose another.
RESULTS = {
    "topk": lambda call, values: [
        values[0], call.named["input"].detach().gather(call.named.get("dim", -1), values[1]), *values[2:]]
    if values[1].dim() else values,
    **{name: lambda call, values: [
        values[0], call.named["input"].detach().gather(call.named["dim"], values[1].unsqueeze(call.named["dim"]))
        if not call.named.get("keepdim") else call.named["input"].detach().gather(call.named["dim"], values[1])]
        if call.named["input"].dim() else values for name in ("median", "nanmedian", "mode", "kthvalue")},
    # PyTorch's derivative by complex matrices has another part besides, which no Hermitian matrix tells.
    "linalg_cholesky": lambda call, values: [values[0], *((gradient + gradient.mH) / 2 for gradient in values[1:])],
}


def all_dims(input, dim):
    return list(range(input.dim())) if dim is None else dim


def over_dims(function):
    """For functions that take no dim=None."""
    return lambda input, dim=None, keepdim=False: function(input, all_dims(input, dim), keepdim)


def phases_of(vectors):
    """That make the largest component of each column positive, of those as large within a thousandth the first."""
    sizes = vectors.detach().abs()
    chosen = (sizes >= 0.999 * sizes.amax(-2, keepdim=True)).to(torch.int32).argmax(-2, keepdim=True)
    component = vectors.gather(-2, chosen)
    return component.conj() / component.abs()


def signs_of(vectors):
    """That make the largest component of each column positive."""
    if vectors.is_complex() and vectors.numel():
        return phases_of(vectors)
    largest = vectors.gather(-2, vectors.abs().argmax(-2, keepdim=True)) if vectors.shape[-2] else vectors.new_ones(
        *vectors.shape[:-2], 1, vectors.shape[-1])
    return torch.where(largest.detach().real >= 0, 1.0, -1.0).to(vectors.dtype)


def eigh(input, UPLO="L"):
    values, vectors = torch.linalg.eigh(input, UPLO)
    return values, vectors * signs_of(vectors)


def svd(A, full_matrices=True):
    U, S, Vh = torch.linalg.svd(A, full_matrices)
    signs, size = signs_of(U), S.shape[-1]
    common = Vh[..., :size, :] * signs[..., :size].mH
    return U * signs, S, torch.cat([common, Vh[..., size:, :]], -2)


def eig(A):
    """In our order, with our phases."""
    values, vectors = torch.linalg.eig(A)
    detached = values.detach()
    scale = detached.abs().amax(-1, keepdim=True).clamp_min(1e-30) if values.shape[-1] else 1
    keys = (detached.real / scale).mul(1e5 if A.dtype in (torch.float64, torch.complex128) else 1e3).round().to(torch.float64) * 1e7 + detached.imag / scale
    order = keys.argsort(-1)
    values, vectors = values.gather(-1, order), vectors.gather(-1, order.unsqueeze(-2).expand(vectors.shape))
    return values, vectors * phases_of(vectors) if vectors.numel() else vectors


def least_squares(A, B, rcond=None, driver="gels"):
    """All results of each driver, as PyTorch gives them."""
    vector = B.dim() == 1 or (A.dim() - 1 == B.dim() and B.shape == A.shape[:-1])
    side = B.unsqueeze(-1) if vector else B
    cut = max(A.shape[-2:]) * torch.finfo(A.dtype).eps if rcond is None else rcond
    solution = torch.linalg.pinv(A, rtol=cut) @ side
    tall = A.shape[-2] > A.shape[-1]
    rest = A @ solution - side
    values = torch.linalg.svdvals(A)
    full = driver == "gels" or bool(((values > cut * values[..., :1]).sum(-1) == A.shape[-1]).all())
    has_residuals = tall and full and driver != "gelsy"
    residuals = (rest * rest.conj()).real.sum(-2) if has_residuals else A.real.new_zeros(0)
    rank = (values > cut * values[..., :1]).sum(-1) if driver != "gels" else torch.zeros(0, dtype=torch.int64)
    return (solution.squeeze(-1) if vector else solution, residuals, rank,
            values if driver in ("gelsd", "gelss") else A.real.new_zeros(0))


def adjugate(A):
    """By minors."""
    size = A.shape[-1]
    if not A.numel():
        return torch.zeros_like(A)
    others = [[k for k in range(size) if k != i] for i in range(size)]
    rows = [torch.stack([(-1) ** (i + k) * torch.linalg.det(A[..., others[k], :][..., others[i]]) for k in range(size)], -1)
            for i in range(size)]
    return torch.stack(rows, -2)


def matrix_norm(input, ord="fro", dim=None, keepdim=False):
    return torch.linalg.matrix_norm(input, ord if ord in ("fro", "nuc") else float(ord), dim or (-2, -1), keepdim)


def slice_(input, dim=0, start=None, end=None, step=1):
    if input.dim() == 0:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    places = [slice(None)] * input.dim()
    places[dim] = slice(start, end, step)
    return input[tuple(places)]


def prod(input, dim=None, keepdim=False, dtype=None):
    if dim is None:
        result = torch.prod(input, dtype=dtype)
        return result.reshape([1] * input.dim()) if keepdim else result
    for d in sorted((d % max(input.dim(), 1) for d in dim), reverse=True):
        input = torch.prod(input, d, keepdim, dtype=dtype)
    return input


def arg_reduction(function):
    return lambda input, dim=None, keepdim=False: function(input, dim, keepdim)


def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    rank = input.dim() - 2
    full = [values * rank if len(values) == 1 else values for values in (stride, padding, dilation, output_padding)]
    stride, padding, dilation, output_padding = full
    return torch.convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


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
    def call(input, *args, output_size=None, **more):
        rank = input.dim() - 2
        if output_size is not None:
            args = (output_size * rank if len(output_size) == 1 else output_size, *args)
        if more.get("stride") == []:
            more["stride"] = None
        if rank == 1 and more.pop("divisor_override", None) is not None:
            raise ValueError("avg_pool1d takes no divisor_override")
        return getattr(F, f"{name}{rank}d")(input, *args, **more)
    return call


def adaptive(name, rank):
    return lambda input, output_size: getattr(F, name)(
        input, output_size * rank if len(output_size) == 1 else output_size)


def statistics_of_norm(input, normalized_shape):
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    return input.mean(dims, True), input.var(dims, correction=0, keepdim=True), (input * input).mean(dims, True)


def native_layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    mean, variance, _ = statistics_of_norm(input, normalized_shape)
    return F.layer_norm(input, normalized_shape, weight, bias, eps), mean, (variance + eps).rsqrt()


def native_rms_norm(input, normalized_shape, weight, eps):
    square = statistics_of_norm(input, normalized_shape)[2]
    return F.rms_norm(input, normalized_shape, weight, eps), (square + eps).rsqrt()


def native_batch_norm(input, weight, bias, eps):
    dims = [d for d in range(input.dim()) if d != 1]
    return F.batch_norm(input, None, None, weight, bias, True, 0.1, eps), input.mean(dims), input.var(dims, correction=0)


def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(input, weight=None, bias=None, running_mean=None, running_var=None, use_input_stats=True, momentum=0.1,
                  eps=1e-5):
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def variance(function):
    return lambda input, dim=None, correction=1, keepdim=False: function(
        input, dim, correction=correction, keepdim=keepdim)


def made(function):
    """Factories, which take an absent dtype as their own default."""
    return lambda *args, dtype=None, **more: function(*args, *more.values(), **({"dtype": dtype} if dtype else {}))


def pair(size):
    return size[0] if len(size) == 1 else size


def recurrent(name):
    return lambda **named: getattr(torch, name)(*named.values())


def unique_all(input):
    values, places, inverse, counts = np.unique(
        input.numpy(), return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
    parts = [torch.from_numpy(np.ascontiguousarray(part)) for part in (values, places, inverse, counts)]
    return parts[0], parts[1], parts[2].reshape(input.shape), parts[3]


def over_line(function):
    return lambda input, n=None, dim=-1, norm="backward": function(input, n, dim, norm)


def over_sides(function, dims):
    return lambda input, s=None, dim=None, norm="backward": function(input, s, dims if dim is None else dim, norm)


def stft(input, return_complex=True, **named):
    result = torch.stft(input, **named, return_complex=True)
    return result if return_complex else torch.view_as_real(result)
def mean_variance_normalization(input, dim=None):
    dims = [d for d in range(input.dim()) if d != 1] if dim is None else dim
    centered = input - input.mean(dims, True)
    return centered / (torch.linalg.vector_norm(centered, 2, dims, True) / math.sqrt(
        math.prod(input.shape[d] for d in dims)) + 1e-9)


def center_crop_pad(input, size, dim=None):
    pad = [0] * (2 * input.dim())
    for at, wanted in zip(range(input.dim()) if dim is None else dim, size):
        missing = wanted - input.shape[at]
        front = int(missing / 2)
        pad[2 * (input.dim() - 1 - at % input.dim())] = front
        pad[2 * (input.dim() - 1 - at % input.dim()) + 1] = missing - front
    return F.pad(input, pad)


def blocks(input, split, order, size):
    return input.reshape(split).permute(order).reshape(size)


def depth_to_space(input, blocksize, mode="DCR"):
    n, c, h, w = input.shape
    b, c = blocksize, c // blocksize**2
    if mode == "CRD":
        return blocks(input, (n, c, b, b, h, w), (0, 1, 4, 2, 5, 3), (n, c, h * b, w * b))
    return blocks(input, (n, b, b, c, h, w), (0, 3, 4, 1, 5, 2), (n, c, h * b, w * b))


def space_to_depth(input, blocksize):
    n, c, h, w = input.shape
    b, h, w = blocksize, h // blocksize, w // blocksize
    return blocks(input, (n, c, h, b, w, b), (0, 3, 5, 1, 2, 4), (n, b * b * c, h, w))


def reverse_sequence(input, sequence_lens, batch_axis=1, time_axis=0):
    by_batch = input.transpose(0, batch_axis)
    turned = [torch.cat([line[:length].flip(0), line[length:]]) for line, length in zip(by_batch, sequence_lens.tolist())]
    return torch.stack(turned).transpose(0, batch_axis) if turned else input.clone()


def pad_packed_sequence(data, batch_sizes, batch_first=False, padding_value=0, total_length=None):
    return torch._pad_packed_sequence(data, batch_sizes, batch_first, padding_value, total_length or len(batch_sizes))


def power_pool(name):
    """One size stands for all; of one dimension PyTorch takes numbers."""
    rank = int(name[-2])

    def call(input, norm_type, kernel_size, stride=(), ceil_mode=False):
        kernel_size, stride = (kernel_size[0], stride[0] if stride else None) if rank == 1 else (kernel_size * rank, stride or None)
        return getattr(F, name)(input, norm_type, kernel_size, stride, ceil_mode)
    return call


def unpool(name):
    rank = int(name[-2])
    return lambda input, indices, kernel_size, stride=(), padding=(0,), output_size=None: getattr(F, name)(
        input, indices, kernel_size * rank, (stride or kernel_size) * rank, padding * rank, output_size)


def scaled_mm(input, mat2, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, use_fast_accum=False):
    if scale_result is not None:  # not read on the CPU; without a bias it may as well come first
        scale_a = scale_a * scale_result
    return torch._scaled_mm(input, mat2, scale_a.detach(), scale_b.detach(), bias, None, out_dtype, use_fast_accum)


def written_lists(row, names):
    """Calls a row that writes into these lists, on copies; gives what is in them afterwards."""

    def call(**arguments):
        copies = {}  # a tensor that is there twice stays one
        for name, value in arguments.items():
            if isinstance(value, list):
                arguments[name] = [copies.setdefault(id(each), each.detach().clone()) for each in value]
            if name in ("grad_scale", "found_inf") and value is not None:
                arguments[name] = value.detach().float()
        if "state_steps" in arguments:
            arguments["state_steps"] = [step.float() for step in arguments["state_steps"]]
        with torch.no_grad():
            by_lists(row)(**arguments)
        return [each for name in names for each in arguments[name]]

    return call


def by_lists(row):
    """By PyTorch's overloads, of which those with a number have no alpha."""

    def call(**arguments):
        if row.startswith("_fused"):
            return getattr(torch, row)(**arguments)
        alpha = arguments.pop("alpha", 1)
        places = [value if isinstance(value, list) or alpha == 1 else value * alpha for value in arguments.values()]
        if alpha != 1 and isinstance(arguments["other"], list):
            return getattr(torch, row)(*places, alpha=alpha)
        return getattr(torch, row)(*places)

    return call


FUNCTIONS = {
    "max_pool_with_indices": lambda **given: by_rank("max_pool")(return_indices=True, **given),
    "avg_pool": by_rank("avg_pool"),
    "adaptive_max_pool_with_indices": lambda **given: by_rank("adaptive_max_pool")(return_indices=True, **given),
    **{f"adaptive_{kind}_pool{rank}d": adaptive(f"adaptive_{kind}_pool{rank}d", rank)
       for kind in ("max", "avg") for rank in (1, 2, 3)},
    "view": lambda input, size: input.reshape(size),
    "copy": lambda input: input.clone(),
    "cast": lambda input, dtype: input.to(dtype),
    "slice": slice_,
    "expand": lambda input, size: input.expand(size),
    "unfold": lambda input, dimension, size, step: input.unfold(dimension, size, step),
    "as_strided": lambda input, size, stride, storage_offset=None: torch.as_strided(
        input, size, stride, storage_offset or 0),
    "squeeze": lambda input, dim=None: input.squeeze() if dim is None else input.squeeze(dim),
    "max": over_dims(torch.amax),
    "min": over_dims(torch.amin),
    "any": over_dims(torch.any),
    "all": over_dims(torch.all),
    "logsumexp": over_dims(torch.logsumexp),
    "prod": prod,
    "var": variance(torch.var),
    "std": variance(torch.std),
    "norm": lambda input, p=2, dim=None, keepdim=False: torch.linalg.vector_norm(input, p, dim, keepdim),
    "argmax": arg_reduction(torch.argmax),
    "argmin": arg_reduction(torch.argmin),
    "one_hot": lambda input, num_classes=-1: F.one_hot(input.long(), num_classes),
    "add": lambda input, other, alpha=1: torch.add(torch.as_tensor(input), other, alpha=alpha),
    "sub": lambda input, other, alpha=1: torch.sub(torch.as_tensor(input), other, alpha=alpha),
    "maximum": lambda input, other: torch.maximum(input, torch.as_tensor(other)),
    "minimum": lambda input, other: torch.minimum(input, torch.as_tensor(other)),
    "gelu_tanh": lambda input: F.gelu(input, approximate="tanh"),
    "full": made(torch.full),
    "arange": made(torch.arange),
    "zeros": made(torch.zeros),
    "ones": made(torch.ones),
    "sort": lambda input, dim=-1, descending=False, stable=True: torch.sort(
        input, dim=dim, descending=descending, stable=True),
    "embedding": lambda weight, indices, padding_idx=-1: F.embedding(
        indices, weight, None if padding_idx < 0 else padding_idx),
    "index": lambda input, indices: torch.ops.aten.index(input, indices),
    "index_put": lambda input, indices, values, accumulate=False: torch.ops.aten.index_put(
        input, indices, values, accumulate),
    "tensor_split_at": lambda input, indices, dim=0: torch.tensor_split(input, tuple(indices), dim),
    "meshgrid": lambda tensors, indexing="ij": torch.meshgrid(*tensors, indexing=indexing),
    "broadcast_tensors": lambda tensors: torch.broadcast_tensors(*tensors),
    "einsum": lambda equation, operands: torch.einsum(equation, *operands),
    "repeat": lambda input, repeats: input.repeat(repeats),
    "pad": lambda input, pad, mode="constant", value=None: F.pad(input, pad, mode, value),
    "addmm": lambda input, mat1, mat2, beta=1, alpha=1: torch.addmm(input, mat1, mat2, beta=beta, alpha=alpha),
    "addmv": lambda input, mat, vec, beta=1, alpha=1: torch.addmv(input, mat, vec, beta=beta, alpha=alpha),
    "baddbmm": lambda input, batch1, batch2, beta=1, alpha=1: torch.baddbmm(input, batch1, batch2, beta=beta, alpha=alpha),
    "linear": lambda input, weight, bias=None: F.linear(input, weight, bias),
    "convolution": convolution,
    "scaled_dot_product_attention": dot_product,
    "native_attention": native_attention,
    "layer_norm": lambda input, normalized_shape, weight=None, bias=None, eps=1e-5: F.layer_norm(
        input, normalized_shape, weight, bias, eps),
    "native_layer_norm": native_layer_norm,
    "native_rms_norm": native_rms_norm,
    "native_batch_norm": native_batch_norm,
    "batch_norm": batch_norm,
    "instance_norm": instance_norm,
    "soft_margin_loss": lambda input, target, reduction="mean": F.soft_margin_loss(
        input, target.detach(), reduction=reduction),
    **{name: getattr(F, name) for name in (
        "mse_loss", "l1_loss", "smooth_l1_loss", "binary_cross_entropy_with_logits", "kl_div", "nll_loss", "cross_entropy",
        "huber_loss", "hinge_embedding_loss", "margin_ranking_loss", "poisson_nll_loss",
        "binary_cross_entropy", "cosine_embedding_loss", "triplet_margin_loss", "multi_margin_loss")},
    "fill_diagonal": lambda input, fill_value, wrap=False: input.clone(
        memory_format=torch.contiguous_format).fill_diagonal_(fill_value, wrap),
    "repeat_interleave_by": lambda input, repeats, dim=None: torch.repeat_interleave(input, repeats, dim),
    "var_mean": variance(torch.var_mean),
    "std_mean": variance(torch.std_mean),
    "vecdot": lambda x, y, dim=-1: torch.linalg.vecdot(x, y, dim=dim),
    "cross": lambda input, other, dim=-1: torch.linalg.cross(input, other, dim=dim),
    "tensordot": lambda input, other, dims_self, dims_other: torch.tensordot(input, other, (dims_self, dims_other)),
    "nansum": over_dims(torch.nansum),
    "unique_all": unique_all,
    "interpolate": lambda input, size, mode="nearest", align_corners=False: F.interpolate(
        input, size, mode=mode, align_corners=align_corners if "linear" in mode or "cubic" in mode else None),
    "affine_grid": lambda theta, size, align_corners=False: F.affine_grid(theta, size, align_corners),
    "grid_sample": lambda input, grid, mode="bilinear", padding_mode="zeros", align_corners=False: F.grid_sample(
        input, grid, mode, padding_mode, align_corners),
    "im2col": lambda input, **sizes: F.unfold(input, **{name: pair(size) for name, size in sizes.items()}),
    "col2im": lambda input, **sizes: F.fold(input, **{name: pair(size) for name, size in sizes.items()}),
    **{f"fft_{name}": over_line(getattr(torch.fft, name)) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft_{name}": over_sides(getattr(torch.fft, name), dims) for names, dims in (
        (("fftn", "ifftn", "rfftn", "irfftn"), None), (("fft2", "ifft2", "rfft2", "irfft2"), (-2, -1))) for name in names},
    "stft": stft,
    "istft": torch.istft,
    "fft_c2c": lambda input, dim, scale, forward: scale * (
        torch.fft.fft(input, dim=dim) if forward else torch.fft.ifft(input, dim=dim, norm="forward")),
    "fft_r2c": lambda input, dim, scale, forward: scale * (
        torch.fft.rfft(input, dim=dim) if forward else torch.fft.ihfft(input, dim=dim, norm="forward")),
    "fft_c2r": lambda input, n, dim, scale, forward: scale * (
        torch.fft.hfft(input, n, dim) if forward else torch.fft.irfft(input, n, dim, norm="forward")),
    "sign": torch.sgn,  # which is torch.sign of real numbers
    "linalg_eigh": eigh,
    "linalg_eig": eig,
    "linalg_eigvals": lambda A: eig(A)[0],
    "linalg_lstsq": least_squares,
    "linalg_adjugate": adjugate,
    "linalg_svd": svd,
    "linalg_matrix_norm": matrix_norm,
    "ctc_loss": F.ctc_loss,
    "multigammaln": lambda input, p: torch.mvlgamma(input, p),
    "embedding_bag": lambda input, weight, offsets=None, mode="mean", per_sample_weights=None, include_last_offset=False,
    padding_idx=-1: F.embedding_bag(
        input, weight, offsets, mode=mode, per_sample_weights=per_sample_weights, include_last_offset=include_last_offset,
        padding_idx=None if padding_idx < 0 else padding_idx),
    **{name: recurrent(name) for name in ("lstm", "gru", "rnn_tanh", "rnn_relu")},
    "_scaled_mm": scaled_mm,
    "hardmax": lambda input, dim=-1: F.one_hot(input.argmax(dim), input.shape[dim]).movedim(-1, dim).to(input.dtype)
    if input.dim() and input.numel() else torch.ones_like(input),
    "mean_variance_normalization": mean_variance_normalization,
    "local_response_norm": F.local_response_norm,
    "weight_norm": lambda v, g, dim=0: torch._weight_norm(v, g, dim),
    "center_crop_pad": center_crop_pad,
    "depth_to_space": depth_to_space,
    "space_to_depth": space_to_depth,
    "reverse_sequence": reverse_sequence,
    "pack_padded_sequence": lambda input, lengths, batch_first=False: torch._pack_padded_sequence(input, lengths, batch_first),
    "pad_packed_sequence": pad_packed_sequence,
    **{f"lp_pool{rank}d": power_pool(f"lp_pool{rank}d") for rank in (1, 2, 3)},
    **{f"max_unpool{rank}d": unpool(f"max_unpool{rank}d") for rank in (1, 2, 3)},
    **{f"_foreach_{name}": by_lists(f"_foreach_{name}") for name in (
        "add", "sub", "mul", "div", "maximum", "minimum", "clamp_min", "clamp_max", "pow", "addcmul", "lerp", "neg",
        "abs", "sign", "sqrt", "exp", "reciprocal")},
    **{f"_foreach_{name}_": written_lists(f"_foreach_{name}_", ["self"]) for name in (
        "add", "sub", "mul", "div", "addcmul", "addcdiv", "lerp", "sqrt", "zero")},
    # PyTorch's own fails backward where a tensor is 0-dim.
    "_foreach_addcdiv": lambda self, tensor1, tensor2, value=1: [
        torch.addcdiv(*each, value=value) for each in zip(self, tensor1, tensor2)],
    "_fused_sgd_": written_lists("_fused_sgd_", ["self", "momentum_buffer_list"]),
    **{name: written_lists(name, ["self", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs"]) for name in (
        "_fused_adam_", "_fused_adamw_")},
    "_fused_adagrad_": written_lists("_fused_adagrad_", ["self", "state_sums"]),
    "shrink": lambda input, lambd=0.5, bias=0: torch.where(
        input < -lambd, input + bias, torch.where(input > lambd, input - bias, 0)),
}


def function_of(row):
    """What PyTorch calls the row; None if nothing."""
    if row in FUNCTIONS:
        return FUNCTIONS[row]
    for place in (torch, F, torch.special):
        if hasattr(place, row):
            return getattr(place, row)
    return getattr(torch.linalg, row.removeprefix("linalg_"), None)


def called(row, schema, named):
    """What PyTorch's function of the row gives for these arguments, which have the row's names."""
    if row in FUNCTIONS:
        return FUNCTIONS[row](**named)
    keywords = {one.name for one in arguments_of(schema) if one.is_keyword}
    places = [value for name, value in named.items() if name not in keywords]
    return function_of(row)(*places, **{name: value for name, value in named.items() if name in keywords and value is not None})
