"""PyTorch's public names that the Python package lacks, and why: docs/coverage/python.md is written by it.

    python_names.py --write     # with a Python that has PyTorch, and the package on its path

A name without a reason, and a reason for a name that is there, are errors; python/tests/peer/test_names.py asks for both.
"""

import importlib
import os
import re
import sys
import types
from pathlib import Path

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/coverage/python.md"

# PyTorch's module or class, and ours.
PLACES = {
    "Tensor": "Tensor",
    "": "",
    "autograd": "autograd",
    "autograd.functional": "autograd.functional",
    "linalg": "linalg",
    "fft": "fft",
    "special": "special",
    "nn": "nn",
    "nn.functional": "nn.functional",
    "nn.init": "nn.init",
    "nn.utils": "nn.utils",
    "optim": "optim",
    "optim.lr_scheduler": "optim.lr_scheduler",
    "amp": "amp",
    "utils.data": "data",
}

# Why names are absent on purpose, and a pattern of the whole name, as of re.fullmatch; the first that fits counts.
REASONS = [
    (
        "there are no sparse layouts",
        r".*sparse.*|(c?col|c?row)_indices(_copy)?|indices(_copy)?|values(_copy)?|(is_)?coalesced?|dense_dim|to_mkldnn|is_mkldnn|"
        r"s?spmm|[dhs]sp?mm|sspaddmm|saddmm|smm|SparseAdam",
    ),
    (
        "PyTorch's quantized tensors; ours are rows of ONNX's kind: `quantize_linear`, `qlinear_matmul` and others",
        r"q_.*|.*quantize.*|.*qscheme|quint.*|qint.*|per_(tensor|channel)_.*|fake_quantize.*|fused_moving_avg.*|int_repr|"
        r"fbgemm_.*|choose_qparams.*|intrinsic|qat|quantizable",
    ),
    ("nested tensors are not offered", r"nested|to_padded_tensor|jagged|.*sym_constrain.*"),
    ("not offered yet", r"histogram(dd)?|binomial|distributions|distributed|func|masked|nonzero_static|(svd|pca)_lowrank|lobpcg|"
     r"matrix_sqrth|polar|tensorinv|tensorsolve|empty_permuted|retains_grad|max_pool1d_with_indices|skip_init|fuse_\w+"),
    (
        "each device has a name, `x.to('cuda:0')` or `x.device.type`, and no module, method or attribute of its own",
        r"cuda|xpu|mps|mtia|ipu|cpu|is_(ipu|maia|mps|mtia|vulkan|xla|xpu)(_available)?|accelerator|get_device_module|"
        r"backends|is_vulkan_available|windows",
    ),
    (
        "PyTorch itself raises an error, or warns that it is going to remove it: `linalg` has them, or another function",
        r"eig|symeig|lstsq|solve|matrix_rank|qr|svd|cholesky|triangular_solve|volatile|resize|resize_as|reinforce|storage_type|new|set_default_tensor_type|(frobenius|nuclear)_norm|"
        r"NestedIOFunction|Variable|variable|Container|clip_grad_norm|dirac|eye|sparse|uniform|normal|constant|orthogonal|"
        r"(kaiming|xavier)_(normal|uniform)|legacy_contiguous_format|profiler_legacy|to_dlpack|DataParallel",
    ),
    (
        "a storage is not an object here: `x.shares_storage(y)`, `x.set_(y)`, `x.data_ptr()`",
        r".*[sS]torage(Base)?|is_storage|is_distributed|module_load|get_file_path|from_file",
    ),
    ("`bp.tensor(data, dtype=...)` makes one", r"\w+Tensor"),
    ("tensors are not named, nor their dimensions", r"name|output_nr|grad_dtype|dim_order|hash_tensor|as_subclass|retains_grad"),
    ("dtypes that no device here computes with", r"chalf|complex32|bcomplex32|u?int[1-7]|bits.*|bit|float4.*|float8_e\w+|ScalingType|SwizzleType"),
    ("a view is copied by `clone()`", r"(\w+)_copy"),
    (
        "functions by which `nn.functional` and `nn` are made; call those",
        r"(cudnn|mkldnn|miopen|native|batch_norm|quantized)_.*|(rnn_\w+|lstm|gru)_cell|affine_grid_generator|grid_sampler.*|"
        r"(feature_)?(alpha_)?dropout_?|rrelu_?|channel_shuffle|conv_tbc|max_pool1d_with_indices|norm_except_dim|"
        r"embedding_renorm_|slice_inverse|segment_reduce|empty_quantized|(scaled|grouped)_.*|CrossMapLRN2d|"
        r"LinearCrossEntropyOptions",
    ),
    (
        "compilers and graphs of PyTorch's; and modules that hold what is elsewhere here; `capture` records a program, and elementwise calls are joined by themselves",
        r"compile[dr]?|compiled_\w+|export|jit|fx|_?dynamo|cond|while_loop|ops|library|classes|ao|package|hub|functional|"
        r"(import|parse)_.*|merge_type_.*|unify_type_list|fork|wait|futures|[Ss]ym_?\w*|(Deep)?CopyMemoTable|cpp|"
        r"return_types|utils|overrides|monitor|foreach|signal|random|serialization|testing|typing\w*|types|"
        r"profiler\w*|quasirandom|multiprocessing|modules|parallel|grad|common_types|"
        r"parametrize|parametrizations|stateless|memory_format|fusion|init|convert_parameters|clip_grad|"
        r"prepare_multiprocessing_environment|autocast_mode|grad_scaler|forward_ad|graph|grad_mode|anomaly_mode|"
        r"has_torch_function\w*|assert_int_or_pair|factory_kwargs|fwAD|function|quantization|"
        r"dataloader|datapipes|graph_settings|is_tensor_like|version|torch_version|return_types|thread_safe_generator",
    ),
    (
        "`autocast` as a context keeps this, for each device's kind",
        r"(get|set|is)_autocast_.*|autocast_(in|de)crement_nesting",
    ),
    (
        "settings of PyTorch's own engine: `detect_anomaly`, `use_deterministic_algorithms` and `set_num_threads` are ours",
        r"(set|is|get)_(anomaly|deterministic|warn|num_interop|flush|multithreading|view_replay|detect)_?.*|"
        r"is_(anomaly|deterministic|warn|multithreading|view_replay)_.*|init_num_threads|has_(lapack|mkl|openmp|spectral)|"
        r"USE_.*|PRIVATE_OPS|get_file_path|enforce_grad_layout_policy|kineto_available",
    ),
    ("factors by packed pivots; `linalg.solve`, `lu_factor` and `cholesky_solve` solve", r"(ldl|lu)(_\w+)?|cholesky_ex|solve_ex|householder_product|geqrf|orgqr|ormqr"),
    ("`i0` and `i1` are the same", r"modified_bessel_i[01]"),
    ("pipes of data, which PyTorch has stopped to develop", r"\w*DataPipe\w*|DataChunk|functional_datapipe|guaranteed_.*|non_deterministic|runtime_validation\w*|argument_validation"),
    ("`model.to(memory_format='channels_last')`", r"convert_conv[23]d_weight_memory_format"),
    ("under `nn.utils.parametrizations`", r"(remove_)?(spectral|weight)_norm"),
    ("private to `torch.optim`", r"swap_in_optimizer_params_and_state|functional"),
]


INNER = "classes of PyTorch's compiler and engine"


def resolved(package, path):
    """A module, or a class in it; the package's own for ""."""
    try:
        return importlib.import_module(f"{package}.{path}" if path else package)
    except ImportError:
        found = importlib.import_module(package)
        for part in path.split("."):
            found = getattr(found, part)
        return found


def is_public(home, name):
    """Is it offered by this module, and not merely imported into it, as `math`, or of the compiler's innards?"""
    if name.startswith("_"):
        return False
    value = getattr(home, name, None)
    if isinstance(value, types.ModuleType):
        return value.__name__.startswith("torch.") and value.__name__.count("torch") == 1
    if isinstance(home, type):
        return True
    owner = getattr(value, "__module__", None) or ""
    if isinstance(value, type):
        if home.__name__ == "torch":
            return name in home.__all__
        return owner.startswith(home.__name__)
    if not callable(value) and home.__name__ != "torch":
        return False  # texts of documentation
    return owner.startswith("torch") and not owner.startswith(("torch.overrides", "torch._jit_internal")) or not owner


def compared():
    """By place: the public names that are here, and those that are absent."""
    import torch  # noqa: F401
    import backplane  # noqa: F401

    found = {}
    for theirs, ours in PLACES.items():
        home, own = resolved("torch", theirs), resolved("backplane", ours)
        names = [name for name in dir(home) if is_public(home, name)]
        found[theirs] = ([n for n in names if hasattr(own, n)], [n for n in names if not hasattr(own, n)])
    return found


def reason_of(place, name):
    why = next((why for why, pattern in REASONS if re.fullmatch(pattern, name)), None)
    return INNER if why is None and place == "" and re.fullmatch(r"[A-Z]\w*|classproperty", name) else why


def without_reason(found):
    return [f"{place}.{name}" for place, (_, absent) in found.items() for name in absent if reason_of(place, name) is None]


def unused_reasons(found):
    used = {reason_of(place, name) for place, (_, absent) in found.items() for name in absent}
    return [why for why, _ in REASONS if why not in used]


def page(found):
    import torch

    lines = [
        "# PyTorch's names in Python\n",
        f"What `backplane` has of the public names of PyTorch {torch.__version__.split('+')[0]}, and why it lacks the rest. Written by",
        "`tests/pytorch/python_names.py --write`; a test asks that each absent name has its reason and that this page is current.\n",
        "| PyTorch's | ours | names here | absent |",
        "|---|---|---|---|",
    ]
    for theirs, (here, absent) in found.items():
        shown, own = ("torch." + theirs).rstrip("."), ("backplane." + PLACES[theirs]).rstrip(".")
        lines.append(f"| `{shown}` | `{own}` | {len(here)} | {len(absent)} |")
    lines += ["\n## Absent on purpose\n", "| why | names |", "|---|---|"]
    by_reason = {}
    for place, (_, absent) in found.items():
        for name in absent:
            shown = f"{place}.{name}" if place else name
            by_reason.setdefault(reason_of(place, name) or "not decided", []).append(f"`{shown}`")
    for why, names in by_reason.items():
        lines.append(f"| {why} | {', '.join(names)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    found = compared()
    for each in without_reason(found):
        print("no reason:", each)
    for each in unused_reasons(found):
        print("unused reason:", each)
    if "--write" in sys.argv:
        PAGE.write_text(page(found))
