"""Where PyTorch's own samples show a difference that we want: what compare_opinfo.py lets pass, docs/differences.md says
and docs/opinfo.md counts. A full run fails for an entry that nothing needs any more."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import opinfo_excuses as excuses


@dataclass(frozen=True)
class Known:
    name: str  # of op_db's entry, a regular expression
    what: str  # result | gradient
    says: str  # a regular expression of what is said of an error, of a shape, or of each element that differs
    reason: str
    allows: Callable = None  # of the case and the difference: which elements may differ so


LOST = "of several elements for one place, those that lost get no gradient"
HALF = "PyTorch's is by the half as well that is not read"
WHOLE = "a number that is not whole is refused beside tensors of whole numbers, where PyTorch cuts it"

KNOWN = [
    Known("baddbmm|addmm.*|addmv|addr", "result", "refused: .* give a whole number", WHOLE),
    Known("cholesky_(inverse|solve)", "gradient", "instead of", HALF, excuses.in_half_that_is_not_read),
    Known(r"div\.floor_rounding", "gradient", "derivative is not known",
          "floor_divide has no derivative, as torch.floor_divide has none"),
    Known("native_batch_norm", "result", "result 2", "the variance, where PyTorch gives its inverse root",
          excuses.inverse_root_of_variance),
    Known(r"nn\.functional\.max_unpool[123]d", "gradient", "instead of", LOST, excuses.lost_its_place),
    Known(r"nn\.functional\.hardsigmoid", "gradient", "instead of", "1/6 in float64 is not that of float32",
          excuses.near(1e-7)),
    Known(r"nn\.functional\.batch_norm", "result", "has no channels", "a tensor without a dimension of channels is refused"),
    Known("logit", "result", "instead of", "eps above 1/2 crosses the bounds: ours ends at the upper one, as clamp does",
          excuses.bounds_that_cross),
    Known(r"nn\.functional\.ctc_loss", "gradient", "instead of",
          "PyTorch's has what log_softmax's derivative takes off again: behind log_softmax both agree",
          excuses.same_behind_log_softmax),
    Known(r"special\.ndtr", "result", "instead of", "PyTorch takes 1 + erf, of which the digits cancel where it is small",
          excuses.by_erfc),
    Known("i0|special.i1", "result", "inf instead of nan", "of infinity it is infinity"),
    Known(r"polygamma\..*", "result", "0.0 instead of nan|nan instead of -?inf", "0 at infinity, and NaN at minus infinity",
          excuses.at_infinity),
    Known("(__r)?(add|sub|mul)(__)?|rsub", "result", r"complex64, .* instead of \(nan", "a complex infinity stays one, as in C's annex G",
          excuses.infinite),
    Known("(__r)?mul(__)?|square", "result", r"complex64, .*(nan[+-]inf|inf[+-]nan)j\) instead of",
          "infinity less infinity is NaN, as in C and in PyTorch's own product of few numbers", excuses.overflowed),
    Known("reciprocal", "result", r"complex64, .* instead of \(nan", "0 of a complex infinity", excuses.zero),
    Known("expm1|rsqrt|sigmoid|special.expit", "result", r"complex64, .* instead of \(nan", "at infinity it is what it tends to",
          excuses.peer_is_nan),
    Known("(__r)?pow(__)?|float_power", "result", "complex64, ", "an infinity's direction and powers of infinite exponents are open",
          excuses.power_without_digits),
    Known(r"maximum|minimum|(max|min)\.binary|clamp_(max|min)", "result", r" -?0\.0 instead of -?0\.0$",
          "of two zeros that differ in sign, either is the larger"),
    Known(r"nn\.functional\.relu6?", "result", r" 0.0 instead of -0.0$", "of two zeros that differ in sign, either is the larger"),
    Known("xlogy", "result", "takes Tensor, got (float|int|bool)", "a number is to be made a tensor"),
    Known("quantile", "gradient", "gradient 1: 0.0 instead of", "it has no derivative by `q`"),
    Known(r"linalg\.norm.*|linalg\.matrix_norm", "result", "of nothing is not defined", "the largest of nothing is refused"),
    Known(r"special\.(bessel_[jy][01]|airy_ai)", "result", "0.0 instead of nan", "0 at infinity", excuses.at_infinity),
    Known("istft", "result", "onesided=true; there must be", "frames of both sides are said to be such, by onesided=false"),
    Known(r"special\.bessel_[jy][01]", "result", "instead of", "PyTorch's are off in the seventh digit", excuses.near(1e-6)),
    Known(r"special\.airy_ai", "result", "instead of", "PyTorch's are off in the sixth digit", excuses.near(1e-5)),
    Known(r"special\.airy_ai", "result", "instead of", "far below 0, a phase of more digits than the dtype has", excuses.lost_phase),
    Known(r"special\.bessel_[jy][01]", "gradient", "instead of", "PyTorch's are off in the seventh digit", excuses.near(1e-6)),
    Known(r"special\.zeta", "result", "takes Tensor, got (float|int|bool)", "a number is to be made a tensor"),
    Known(r"special\.zeta", "result", "0.0 instead of nan", "beside an infinite input it is what it tends to"),
    Known(r"special\.zeta", "result", "nan instead of -?inf", "it is NaN where no power of a negative number is defined"),
    Known("ldexp", "result", "inf instead of nan", "an infinity stays one"),
    Known("histc", "result", "instead of", "an element within rounding of an edge may be counted on its other side",
          excuses.equal_sums_of_bins),
    Known(r"linalg\.svd", "result", "result [02]", "vectors beyond the smaller size are any that complete the basis",
          excuses.beyond_smaller_size),
    Known(r"linalg\.vander", "result", "x is 0-dim", "a number is not a vector"),
]  # fmt: skip


def find(name, case, difference):
    """The entries that together let all of it pass; none if they do not."""
    entries = [known for known in KNOWN if known.what == difference.what and re.fullmatch(known.name, name)]
    said = f"{case.dtype}, {case.where}: "
    if difference.close is None:
        return [known for known in entries if re.search(known.says, said + str(difference)) and (
            known.allows is None or difference.ours is not None and bool(known.allows(case, difference).all()))][:1]  # fmt: skip
    used, left = [], ~difference.close
    for known in entries:
        excused = left & known.allows(case, difference) if known.allows else left.clone()
        for at in map(tuple, excused.nonzero().tolist()):
            pair = f"{difference.ours[at].item()!r} instead of {difference.theirs[at].item()!r}"
            excused[at] = re.search(known.says, f"{said}{difference.what} {difference.index}: {pair}") is not None
        if excused.any():
            used.append(known)
            left = left & ~excused
    return [] if left.any() else used


def section():
    """What docs/differences.md says of them."""
    lines = ["\n## On PyTorch's own samples\n", "What [opinfo.md](opinfo.md) counts: beside the tables above, these differ.\n",
             "| entry of op_db | what | why |", "|---|---|---|"]  # fmt: skip
    for known in KNOWN:
        name = known.name.replace("\\", "").replace("|", " \\| ")
        lines.append(f"| `{name}` | {known.what} | {known.reason} |")
    return lines
