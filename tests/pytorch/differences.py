"""Where Backplane differs from PyTorch on purpose, and why: what the comparisons leave out, and docs/differences.md says.

    tests/pytorch/differences.py     # writes docs/differences.md; tests/rules/differences_rule.py asks that it is so
"""

import json
import pathlib

import opinfo_known

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/differences.md"
SAME = "the same"

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
    "max_pool_backward": "max_pool_with_indices's derivative",
    "avg_pool_backward": "avg_pool's derivative",
    "resample": "ONNX's: a loop over its definitions, tests/core_ops/resample_test.cpp",
    **{row: "ONNX's: its examples and exact sums, tests/core_ops/quantized_test.cpp" for row in (
        "quantize_linear", "dequantize_linear", "dynamic_quantize_linear", "matmul_integer", "conv_integer", "qlinear_matmul",
        "qlinear_conv")},
    "pack_convolution": "an order of memory of our own: tests/core_ops/packed_convolution_test.cpp",
    "packed_convolution": "convolution by such a weight: tests/core_ops/packed_convolution_test.cpp",
    "ctc_loss_backward": "ctc_loss's derivative, of log_softmax's results: tests/core_ops/ctc_test.cpp",
    **{name: "torchvision has it: tests/core_ops/detection_test.cpp" for name in (
        "box_iou", "nms", "roi_align", "roi_pool", "deform_conv2d")},
    "non_max_suppression": "ONNX has it: tests/core_ops/detection_test.cpp",
}


# Where we differ on purpose: row, recipe ("" for all), what, why.
KNOWN = [
    ("scatter", "", "derivative", "of several elements for one place, those that lost get no gradient"),
    ("index_put", "", "derivative", SAME),
    ("index_copy", "", "derivative", SAME),
    ("put", "", "derivative", SAME),
    ("quantile", "", "derivative", "of equal elements each may choose another"),
    ("pixel_unshuffle", "zero_size", "result", "of no elements PyTorch keeps the shape"),
    ("nanquantile", "", "derivative", "of equal elements each may choose another"),
    ("kl_div", "", "derivative by tensor 1", "finite where the target is 0; below 0 nothing is defined"),
    ("soft_margin_loss", "", "derivative by tensor 1", "PyTorch has none by the target"),
    ("ctc_loss", "", "derivative", "PyTorch's has what log_softmax's derivative takes off again: behind log_softmax both agree"),
    ("nextafter", "", "derivative by tensor 0", "it moves as the number does, where PyTorch's is 0"),
    ("topk", "", "derivative", "of equal elements each may choose another; gradcheck holds it on distinct ones"),
    ("polar", "", "derivative by tensor 0", "PyTorch's has the other sign where abs is negative"),
    ("div", "several_tiles", "derivative", "complex, by zero"),
    ("hardsigmoid", "", "derivative", "1/6 in float64 is not that of float32"),
    ("gelu", "specials", "result", "infinity stays infinity"),
    ("add", "specials", "result", "a complex infinity times an alpha of 1 is itself"),
    ("sub", "specials", "result", SAME),
    ("cholesky_solve", "", "derivative by tensor 1", "PyTorch's is by the half as well that is not read"),
    ("cholesky_inverse", "", "derivative", SAME),
    ("linalg_svd", "completed", "result", "vectors beyond the smaller size are any that complete the basis"),
    ("digamma", "specials", "derivative", "polygamma is infinite at 0 and at negative whole numbers"),
    ("i0", "specials", "", "of infinity it is infinity"),
    ("i1", "specials", "", "of infinity it is infinity"),
    *((f"bessel_{kind}", "specials", "", "0 at infinity") for kind in ("j0", "j1", "y0", "y1")),
    ("airy_ai", "specials", "", "0 at the infinities"),
    ("zeta", "specials", "result", "beside an infinite input it is what it tends to"),
    ("ldexp", "specials", "result", "0 and the infinities stay themselves, and no factor overflows before the result"),
    ("kthvalue", "", "derivative", "of equal elements each may choose another"),
    ("mode", "", "derivative", SAME),
    ("mode", "specials", "", "NaN equals nothing, and is sorted behind all else"),
    ("convolution", "no_channels", "", "without input channels the result is the bias"),
]

# Rows whose float64 PyTorch computes with fewer digits, and how far off it may be, relative to 1 or to the number: ours is
# right there.
COARSE = {**{f"bessel_{kind}": 1e-6 for kind in ("j0", "j1", "y0", "y1")}, "airy_ai": 1e-5}

# Exact rows whose zeros may have another sign than PyTorch's.
ZERO_SIGNS = {
    **{row: "of two zeros that differ in sign, either is the larger" for row in (
        "maximum", "minimum", "relu", "relu6", "clamp", "clamp_min", "clamp_max")},
    **{row: "PyTorch subtracts complex numbers from 0, which gives 0 for 0" for row in ("neg", "_foreach_neg")},
}

# Complex rows with cuts, on which the side decides: whether the cuts are upright. PyTorch's formulas lose the sign of a zero.
ON_CUTS = {"asin": False, "acos": False, "asinh": True}

# Complex rows that have a result where PyTorch's is NaN.
BESIDE_NAN = {"pow": "the power of 0 is 1, of NaN as well, as of real numbers", "expm1": "at infinity it is what it tends to"}

# What is not of one row.
GENERAL = """
* `conj` computes its result at once, where PyTorch only marks it; transforms of float16 and bfloat16 compute in float32; `stft` of complex
  signals and `istft` of two-sided spectra need onesided=false, which PyTorch detects by itself. Where no window reaches, `istft` divides by
  0; PyTorch waits for the device and raises an error.
* `index` takes no masks of uint8, which PyTorch calls deprecated; an index without elements may have any dtype in `gather`, and in
  PyTorch in `scatter` and its like, too. `scatter_add` refuses bools, which `index_add`, `index_put` and `put` add.
* An index out of range is an error at the latest when the stream is synchronized, and the error names the operator.
* Random numbers come from Philox as `philox` defines it, and are the same on every device; PyTorch's differ from device to device.
* For equal elements, `median`, `nanmedian`, `sort` and `topk` may return other indices than PyTorch, which does not specify them.
* `linspace`, windows and `fftfreq` are computed in float64 and rounded once; PyTorch computes them in their dtype.
* `binary_cross_entropy` passes no gradient on at exactly 0 and 1, where PyTorch's is 1e12.
* `searchsorted` refuses a sequence and values of two dtypes; `median` of no whole numbers is an error.
* `quantile` finds its place in float64, so that 'nearest' may take another neighbour than PyTorch, which rounds in the input's dtype.
* `logit`'s derivative at 0 and 1 is NaN, not infinity, is finite outside, and 0 at the bounds that `eps` sets; `cdist`'s by `p` infinity
  is shared by equal differences; `nanmean`'s of NaN alone is 0; a NaN score makes `multi_margin_loss` NaN.
* Factorizations do not wait for a device to say that they failed. Where calls are done when they return (the CPU), `linalg_cholesky` of
  a matrix that is not positive definite, and `linalg_solve` and `linalg_inv` of a singular one, are errors; elsewhere, and in a
  capture, they give NaN or infinities, where PyTorch waits and raises an error.
* The derivative of `linalg_cholesky` by complex matrices is Hermitian; PyTorch's has another part besides, which moves nothing.
* The largest component of each vector by `linalg_eigh`, and of each left one by `linalg_svd`, is positive; PyTorch leaves the sign open.
  Of complex vectors it is the first of those as large within a thousandth, and the derivative is that of the vectors so chosen, where
  PyTorch leaves the phase open, and refuses derivatives that depend on it.
* `linalg_eig` and `linalg_eigvals` order the eigenvalues by their real parts, then by their imaginary parts. The largest component of
  each eigenvector, the first of those as large within a thousandth, is real and positive, and the derivative is that of the vectors so
  chosen; PyTorch leaves both open, and refuses derivatives that depend on the choice.
* `linalg_lstsq` takes the driver 'gels' by default on every device, and decides 'gelsy' as well by singular values. `linalg_det` has derivatives of second order where several singular values are equal, as well.
* `sign` of complex numbers is `sgn`, as in the array API; PyTorch refuses them.
* `_foreach_*` take lists whose tensors have one dtype and device at each place, and one number for all tensors, not one for each.
  `_fused_*_` refuse tensors to be written that share memory, and unscale gradients for the step alone: `grads` stay as they are.
* `ctc_loss` looks at no length on the host: one beyond the steps, or beyond the labels, is an index out of range.
* `roi_align`'s derivative by boxes is the true one, where torchvision has none; a number that is not finite anywhere in an image
  makes a region NaN that lies elsewhere, if `sampling_ratio` is below 1 or above 4. `roi_pool` cuts a region of whole elements into
  parts exactly.
* Orthogonal polynomials take a whole number `n` of at most 1,024, where PyTorch takes a tensor as well.
* `polygamma` is infinite at negative whole numbers, and 0 at infinity; `nextafter` asks for one dtype;
  `embedding_bag` by 'max' shares its gradient among equal elements.
* `histc` and `quantile` take float16 and bfloat16 as well.
"""


def page():
    names = json.loads((ROOT / "tests/pytorch/names.json").read_text())
    lines = [
        "# Where Backplane differs from PyTorch\n",
        "Names of operators and arguments, dtypes, promotion, NaN and empty inputs are PyTorch's. `tests/pytorch/` compares each row (an",
        "operator of [the table](operators.md)), forward and backward, on every sample, within the row's tolerance. The differences below are",
        "excluded from that, each with its reason. `tests/pytorch/differences.py` writes this page.\n",
        "## In general",
        GENERAL,
        "## Results and derivatives of single rows\n",
        "| row | where | what | why |",
        "|---|---|---|---|",
    ]
    why = ""
    for row, recipe, what, reason in KNOWN:
        why = why if reason == SAME else reason
        lines.append(f"| `{row}` | {recipe or 'everywhere'} | {what or 'all'} | {why} |")
    lines += [f"| `{row}` | float64 | all, by {off:g} | PyTorch computes it with seven digits in places |" for row, off in COARSE.items()]
    lines += [f"| `{row}` | everywhere | the sign of zeros | {why} |" for row, why in ZERO_SIGNS.items()]
    lines += [f"| `{row}` | on its cuts, complex | derivative | PyTorch's is that of the other side |" for row in ON_CUTS]
    lines += [f"| `{row}` | where PyTorch's is NaN, complex | result | {why} |" for row, why in BESIDE_NAN.items()]
    lines += opinfo_known.section()
    lines += ["\n## Arguments\n", "| row | ours | PyTorch's | why |", "|---|---|---|---|"]
    for row, each in names["differ"].items():
        ours, theirs = (", ".join(f"`{name}`" for name in each[side]) for side in ("ours", "torch"))
        lines.append(f"| `{row}` | {ours} | {theirs} | {each['reason']} |")
    lines += ["\nLeft out everywhere: " + "; ".join(f"`{name}` ({reason})" for name, reason in names["left_out"].items()) + ".\n"]
    lines += ["## Rows that PyTorch has not\n", "| row | why |", "|---|---|"]
    lines += [f"| `{row}` | {reason} |" for row, reason in names["without"].items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
