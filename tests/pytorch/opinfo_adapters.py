"""How entries of op_db are said to our rows where order, names or form differ: {entry: function of PyTorch's arguments
that returns (row, arguments in order, keywords)}."""

import torch

ADAPTERS = {}


class Unmapped(Exception):
    """Why a call cannot be said to a row."""


def said(*entries):
    def add(function):
        for entry in entries:
            ADAPTERS[entry] = function
        return function
    return add


def number(value):
    """Tensors of one element where a row takes a number."""
    return value.item() if isinstance(value, torch.Tensor) and value.numel() == 1 else value


@said("normal.in_place", "normal", "normal.number_mean", "multinomial", "bernoulli", "randint", "new_empty", "new_empty_strided",
      "empty_strided", "empty_permuted", "rand_like", "randn_like", "randint_like", "cauchy", "exponential", "geometric", "log_normal",
      "uniform", "nn.functional.dropout", "nn.functional.feature_alpha_dropout.with_train", "nn.functional.alpha_dropout",
      "nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.rrelu", "nn.functional.fractional_max_pool2d",
      "nn.functional.fractional_max_pool3d")  # fmt: skip
def unsure(*_, **__):
    raise Unmapped("what it gives is random or undefined")


@said("arange")
def arange(start, end=None, step=1, **more):
    return "arange", [start, end, step] if end is not None else [0, start], more


@said("rot90")
def rot90(input, k=1, dims=(0, 1)):
    return "rot90", [input, k, dims], {}


@said("clamp_min")
def clamp_min(input, min):
    return ("maximum", [input, min], {}) if isinstance(min, torch.Tensor) else ("clamp_min", [input, min], {})


@said("clamp_max")
def clamp_max(input, max):
    return ("minimum", [input, max], {}) if isinstance(max, torch.Tensor) else ("clamp_max", [input, max], {})


@said("clamp")
def clamp(input, min=None, max=None):
    if min is None or max is None:
        return clamp_min(input, min) if max is None else clamp_max(input, max)
    if any(isinstance(bound, torch.Tensor) for bound in (min, max)):
        raise Unmapped("bounds are numbers; of tensors, call minimum and maximum")
    return "clamp", [input, min, max], {}


@said("broadcast_tensors")
def broadcast_tensors(*tensors):
    return "broadcast_tensors", [list(tensors)], {}


@said("meshgrid.variadic_tensors", "meshgrid.list_of_tensors")
def meshgrid(*tensors, indexing="ij"):
    return "meshgrid", [list(tensors[0]) if isinstance(tensors[0], (list, tuple)) else list(tensors)], {"indexing": indexing}


@said("cdist")
def cdist(x1, x2, p=2.0, compute_mode=None):
    return "cdist", [x1, x2, p], {}


@said("div.floor_rounding", "div.trunc_rounding", "div.no_rounding_mode")
def div(input, other, rounding_mode=None):
    if rounding_mode == "trunc":
        raise Unmapped("trunc(div(input, other)): two calls")
    return "floor_divide" if rounding_mode == "floor" else "div", [input, other], {}


@said("masked_fill", "index_fill")
def filled(input, *given):
    row = "masked_fill" if len(given) == 2 else "index_fill"
    return f"form::{row}" if isinstance(given[-1], torch.Tensor) else row, [input, *given], {}


def unbiased(row):
    def call(input, dim=None, unbiased=None, *, correction=1, keepdim=False):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        correction = correction if unbiased is None else int(unbiased)
        if correction != int(correction):
            raise Unmapped("the correction is a whole number")
        return row, [input, dim], {"correction": int(correction), "keepdim": keepdim}
    return call


for one in ("var", "std", "var_mean", "std_mean"):
    ADAPTERS[one] = ADAPTERS[f"{one}.unbiased"] = unbiased(one)


def quantile(row):
    def call(input, q, dim=None, keepdim=False, *, interpolation="linear"):
        if isinstance(q, torch.Tensor) and row == "nanquantile":
            raise Unmapped("`q` is one number; call it for each")
        form = f"form::{row}" if isinstance(q, torch.Tensor) else row
        return form, [input, q, dim, keepdim], {"interpolation": interpolation}
    return call


ADAPTERS.update({one: quantile(one) for one in ("quantile", "nanquantile")})


@said("max.binary")
def max_of_two(input, other):
    return "maximum", [input, other], {}


@said("min.binary")
def min_of_two(input, other):
    return "minimum", [input, other], {}


@said("native_batch_norm")
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    if not training:
        raise Unmapped("it is called in training alone")
    return "native_batch_norm", [input, weight, bias, eps], {}


@said("nn.functional.batch_norm", "nn.functional.batch_norm.without_cudnn")
def batch_norm(input, running_mean=None, running_var=None, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    return "batch_norm", [input, weight, bias, running_mean, running_var, training, momentum, eps], {}


@said("nn.functional.instance_norm")
def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    return "instance_norm", [input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps], {}


def adaptive_max_pool(rank):
    def call(input, output_size, return_indices=False):
        sizes = [output_size] * rank if isinstance(output_size, int) or output_size is None else list(output_size)
        sizes = [input.shape[at - rank] if size is None else size for at, size in enumerate(sizes)]
        return f"adaptive_max_pool{rank}d", [input, sizes], {}
    return call


def adaptive_avg_pool(rank):
    def call(input, output_size):
        row, places, keywords = adaptive_max_pool(rank)(input, output_size)
        return row.replace("max", "avg"), places, keywords
    return call


def max_pool(rank):
    def call(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return f"max_pool{rank}d", [input, kernel_size], {
            "padding": padding, "dilation": dilation, "ceil_mode": ceil_mode, **({} if stride is None else {"stride": stride})}
    return call


def conv(rank):
    def call(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if isinstance(padding, str):
            raise Unmapped("padding is said by numbers")
        return f"conv{rank}d", [input, weight, bias, stride, padding, dilation, groups], {}
    return call


for rank in (1, 2, 3):
    ADAPTERS[f"nn.functional.adaptive_max_pool{rank}d"] = adaptive_max_pool(rank)
    ADAPTERS[f"nn.functional.adaptive_avg_pool{rank}d"] = adaptive_avg_pool(rank)
    ADAPTERS[f"nn.functional.max_pool{rank}d"] = max_pool(rank)
    ADAPTERS[f"nn.functional.conv{rank}d"] = conv(rank)


@said(*(f"nn.functional.interpolate.{mode}" for mode in ("nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area")))
def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    if scale_factor is not None:
        raise Unmapped("the size says it, not a factor")
    return "interpolate", [input, size, mode, bool(align_corners)], {}


@said("nn.functional.upsample_bilinear")
def upsample_bilinear(input, size=None, scale_factor=None):
    return interpolate(input, size, scale_factor, "bilinear", True)


@said("nn.functional.upsample_nearest")
def upsample_nearest(input, size=None, scale_factor=None):
    return interpolate(input, size, scale_factor, "nearest")


@said("to")
def to(input, *given, **more):
    dtypes = [value for value in (*given, *more.values()) if isinstance(value, torch.dtype)]
    if not dtypes:
        raise Unmapped("a move between devices")
    return "cast", [input, dtypes[0]], {}


CASTS = {"bfloat16": torch.bfloat16, "bool": torch.bool, "byte": torch.uint8, "char": torch.int8, "double": torch.float64,
         "float": torch.float32, "half": torch.float16, "int": torch.int32, "long": torch.int64, "short": torch.int16,
         "cdouble": torch.complex128, "cfloat": torch.complex64}  # fmt: skip
ADAPTERS.update({name: lambda input, dtype=dtype, **more: ("cast", [input, dtype], {}) for name, dtype in CASTS.items()})


@said("nn.functional.gelu")
def gelu(input, approximate="none"):
    return "gelu" if approximate == "none" else "gelu_tanh", [input], {}


@said("narrow")
def narrow(input, dim, start, length):
    return "narrow", [input, dim, number(start), length], {}


@said("round.decimals_0", "round.decimals_3", "round.decimals_neg_3")
def rounded(input, decimals=0):
    if decimals:
        raise Unmapped("it rounds to whole numbers")
    return "round", [input], {}


@said("split.list_args", "split", "unsafe_split")
def split(input, split_size_or_sections, dim=0):
    one = isinstance(split_size_or_sections, int)
    return "split" if one else "split_with_sizes", [input, split_size_or_sections, dim], {}


@said("tensor_split")
def tensor_split(input, indices_or_sections, dim=0):
    if isinstance(indices_or_sections, torch.Tensor):
        indices_or_sections = indices_or_sections.tolist()
    return ("tensor_split" if isinstance(indices_or_sections, int) else "tensor_split_at"), [input, indices_or_sections, dim], {}


@said("einsum")
def einsum(operands, equation):
    return "einsum", [equation, list(operands)], {}


@said("svd")
def svd(input, some=True, compute_uv=True):
    raise Unmapped("deprecated by PyTorch; see linalg.svd")


@said(*(f"polygamma.polygamma_n_{n}" for n in range(5)), "special.polygamma.special_polygamma_n_0")
def polygamma(input, n):
    return "polygamma", [n, input], {}


@said("mvlgamma.mvlgamma_p_1", "mvlgamma.mvlgamma_p_3", "mvlgamma.mvlgamma_p_5")
def mvlgamma(input, p):
    return "multigammaln", [input, p], {}


@said("unique")
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    if dim is not None or return_inverse or return_counts:
        raise Unmapped("unique_all gives values, indices, inverse and counts of all elements, in this order")
    return "unique_all", [input], {}


@said("scatter")
def scatter(input, dim, index, src, reduce=None):
    if not isinstance(src, torch.Tensor):
        if reduce or isinstance(src, complex):
            raise Unmapped("the source is a tensor")
        return "form::scatter", [input, dim, index, src], {}
    if reduce:
        return "scatter_reduce", [input, dim, index, src, {"add": "sum", "multiply": "prod"}[reduce]], {}
    return "scatter", [input, dim, index, src], {}


def made(row, num_given):
    def call(input, *given, dtype=None, **more):
        size = given[0] if isinstance(given[0], (tuple, list)) else given
        return row, [size, *(given[1:] if num_given > 1 else [])], {"dtype": dtype or input.dtype}
    return call


ADAPTERS.update({"new_zeros": made("zeros", 1), "new_ones": made("ones", 1), "new_full": made("full", 2)})


@said("scalar_tensor")
def scalar_tensor(value, dtype=None, **more):
    return "full", [[], value], {"dtype": dtype}


@said("searchsorted")
def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None):
    if sorter is not None:
        raise Unmapped("what is not sorted is to be gathered first")
    if not isinstance(input, torch.Tensor):
        input = torch.tensor(input, dtype=sorted_sequence.dtype)
    return "searchsorted", [sorted_sequence, input], {"out_int32": out_int32, "right": right or side == "right"}


@said("tensordot")
def tensordot(input, other, dims):
    if isinstance(dims, int):
        return "form::tensordot", [input, other, dims], {}
    return "tensordot", [input, other, *map(list, dims)], {}


@said("nonzero")
def nonzero(input, *, as_tuple=False):
    if as_tuple:
        raise Unmapped("unbind(nonzero(input), 1): two calls")
    return "nonzero", [input], {}


@said("nn.functional.embedding")
def embedding(weight, indices, padding_idx=None, **more):
    return "embedding", [weight, indices], {**more, **({} if padding_idx is None else {"padding_idx": padding_idx % len(weight)})}


@said("nn.functional.embedding_bag")
def embedding_bag(weight, indices, offsets=None, padding_idx=None, **more):
    index = {} if padding_idx is None else {"padding_idx": padding_idx % len(weight)}
    return "embedding_bag", [indices, weight], {"offsets": offsets, **more, **index}


@said("nn.functional.scaled_dot_product_attention")
def attention(*given, dropout_p=0.0, **more):
    if dropout_p:
        raise Unmapped("what it gives is random or undefined")
    return "scaled_dot_product_attention", given, more


@said("nn.functional.ctc_loss")
def ctc_loss(log_probs, targets, input_lengths, target_lengths, **more):
    lengths = [torch.tensor(value) if isinstance(value, (list, tuple)) else value for value in (input_lengths, target_lengths)]
    return "ctc_loss", [log_probs, targets, *lengths], more


@said("repeat_interleave")
def repeat_interleave(input, repeats, dim=None, *, output_size=None):
    return "repeat_interleave" if isinstance(repeats, int) else "repeat_interleave_by", [input, repeats, dim], {}


@said("linalg.vector_norm")
def vector_norm(input, ord=2, dim=None, keepdim=False, *, dtype=None):
    if dtype is not None:
        raise Unmapped("cast the vectors first")
    return "norm", [input, float(ord), dim, keepdim], {}


@said("linalg.matrix_norm")
def matrix_norm(input, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    return "linalg_matrix_norm", [input, ord if isinstance(ord, str) else f"{ord:g}", dim, keepdim], {"dtype": dtype}


@said("linalg.lstsq", "linalg.lstsq.grad_oriented")
def lstsq(A, B, rcond=None, *, driver=None):
    return "linalg_lstsq", [A, B, rcond], {"driver": driver or "gelsy"}  # PyTorch's default on the CPU


@said("linalg.norm", "linalg.norm.subgradients_at_zero")
def linalg_norm(input, ord=None, dim=None, keepdim=False, *, dtype=None):
    if ord is None:
        return vector_norm(input, 2, dim, keepdim, dtype=dtype)
    if (input.dim() if dim is None else 1 if isinstance(dim, int) else len(dim)) == 1:
        return vector_norm(input, ord, dim, keepdim, dtype=dtype)
    return matrix_norm(input, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)


@said("norm", "norm.inf", "norm.fro", "norm.nuc")
def norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    if p == "nuc":
        return matrix_norm(input, p, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return vector_norm(input, 2 if p in ("fro", None) else p, dim, keepdim, dtype=dtype)


def by_tolerance(row):
    def call(input, **more):
        return row, [input], {name: number(value) for name, value in more.items()}
    return call


ADAPTERS.update({f"linalg.{row}{variant}": by_tolerance(f"linalg_{row}") for row in ("matrix_rank", "pinv") for variant in ("", ".hermitian")})


@said("linalg.pinv.singular")
def pinv_singular(a, b):
    raise Unmapped("the entry takes factors and multiplies them first")


@said("where")
def where(input, condition, other):
    return "where", [condition, input, other], {}


def median(row):
    def call(input, dim=None, keepdim=False):
        if dim is None:
            return ("form::median", [input], {}) if row == "median" else (row, [input.flatten(), 0], {})
        return row, [input, dim, keepdim], {}
    return call


ADAPTERS.update({row: median(row) for row in ("median", "nanmedian")})



@said("nn.functional.grid_sample")
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    if input.dim() != 4 and mode == "bicubic":
        raise Unmapped("volumes have no 'bicubic'")
    return "grid_sample", [input, grid, mode, padding_mode, bool(align_corners)], {}


def like_other(row):
    return lambda input, other: (row, [input, list(other.shape)], {})


ADAPTERS.update({f"{row}_as": like_other(row) for row in ("expand", "reshape", "view")})


@said("broadcast_to")
def broadcast_to(input, size):
    return "expand", [input, list(size)], {}


@said("t")
def t(input):
    if input.dim() < 2:
        raise Unmapped("of fewer than two dimensions it is the input")
    return "transpose", [input, 0, 1], {}


@said("mT")
def mT(input):
    return "transpose", [input, -2, -1], {}


@said("rsub")
def rsub(input, other, alpha=1):
    return "sub", [other if isinstance(other, torch.Tensor) else torch.tensor(other, dtype=input.dtype), input], {"alpha": alpha}


def all_of(row):
    return lambda input: (row, [input], {})


@said("positive", "contiguous")
def copied(input, *_, **__):
    return "copy", [input], {}


@said("T")
def turned(input):
    return "permute", [input, list(reversed(range(input.dim())))], {}


@said("ravel")
def ravel(input):
    return "reshape", [input, [-1]], {}


@said("unsafe_chunk")
def unsafe_chunk(*given, **more):
    return "chunk", given, more


@said("torch.ops.aten._safe_softmax.default")
def safe_softmax(*given, **more):
    return "_safe_softmax", given, more


@said("torch.ops.aten._scaled_dot_product_flash_attention_for_cpu")
def flash_attention(query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    if dropout_p:
        raise Unmapped("what it gives is random or undefined")
    if attn_mask is not None:
        attn_mask = attn_mask.expand(*query.shape[:-1], key.shape[-2])
    return "native_attention", [query, key, value, attn_mask, is_causal, query.shape[-1] ** -0.5 if scale is None else scale], {}


def from_the_right(row):
    return lambda input, other: (row, [other, input], {})


ADAPTERS.update({f"__r{name}__": from_the_right(row) for name, row in {
    "add": "add", "sub": "sub", "mul": "mul", "div": "div", "pow": "pow", "mod": "remainder", "matmul": "matmul",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}.items()})  # fmt: skip


@said("true_divide")
def true_divide(input, other):
    return "div", [input, other], {}


def extreme_along(row):
    return lambda input, dim, keepdim=False: (row, [input, [dim], keepdim], {})


for row in ("max", "min"):
    ADAPTERS[f"{row}.reduction_no_dim"] = all_of(row)
    ADAPTERS[f"{row}.reduction_with_dim"] = extreme_along(row)


@said("linalg.polar", "sparse.sampled_addmm", "sparse.mm.reduce")
def another(*_, **__):
    raise Unmapped("another function: the row of this name is torch's own")


@said("eye")
def eye(n, m=None, dtype=None, **more):
    return "eye", [n, m], {"dtype": dtype}


@said("linspace", "linspace.tensor_overload")
def linspace(start, end, steps, dtype=None, **more):
    start, end = number(start), number(end)
    if isinstance(start, complex) or isinstance(end, complex):
        raise Unmapped("of real numbers alone")
    return "linspace", [start, end, steps], {"dtype": dtype}


def window(name):
    def call(length, sym=True, dtype=None, **more):
        if more.pop("exact", None) or "alpha" in more:
            raise Unmapped("of its usual numbers alone")
        return f"{name}_window", [length, not sym], {"dtype": dtype}
    return call


ADAPTERS.update({f"signal.windows.{name}": window(name) for name in ("hann", "hamming", "blackman")})


@said("argsort")
def argsort(input, dim=-1, descending=False, stable=True):
    return "argsort", [input, dim, descending], {}


@said("msort")
def msort(input):
    return "sort", [input, 0], {}


def stack_of(name):
    return lambda tensors: (name, [list(tensors)], {})


def at_least(name):
    def call(input):
        if isinstance(input, (list, tuple)):
            raise Unmapped("one tensor at a time")
        return name, [input], {}
    return call


ADAPTERS.update({name: stack_of(name) for name in ("vstack", "hstack", "dstack")})
ADAPTERS.update({f"atleast_{rank}d": at_least(f"atleast_{rank}d") for rank in (1, 2, 3)})
