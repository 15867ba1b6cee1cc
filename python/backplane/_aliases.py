"""Rows of the operator table under PyTorch's further names, and forms of them that write into their first argument."""

from . import _core
from ._core import Tensor
from ._named import named

_rows = _core.operators

# PyTorch's second name: the row's.
ALIASES = {
    "absolute": "abs",
    "clip": "clamp",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "concat": "cat",
    "concatenate": "cat",
    "conj_physical": "conj",
    "divide": "div",
    "fix": "trunc",
    "ger": "outer",
    "greater": "gt",
    "greater_equal": "ge",
    "igamma": "gammainc",
    "igammac": "gammaincc",
    "less": "lt",
    "less_equal": "le",
    "moveaxis": "movedim",
    "multiply": "mul",
    "mvlgamma": "multigammaln",
    "mm": "matmul",
    "negative": "neg",
    "not_equal": "ne",
    "subtract": "sub",
    "swapaxes": "transpose",
    "swapdims": "transpose",
    "true_divide": "div",
    "det": "linalg_det",
    "inverse": "linalg_inv",
    "pinverse": "linalg_pinv",
    "slogdet": "linalg_slogdet",
    "matrix_power": "linalg_matrix_power",
    "matrix_exp": "linalg_matrix_exp",
    "row_stack": "vstack",
    "special_digamma": "digamma",
}
# Rows without a form in place of their own, whose result has the shape of their first argument.
_WRITTEN = """addbmm addmm addmv addr baddbmm conj cumprod cumsum digamma eq erfinv fill_diagonal ge gt i0 index_add index_copy
    float_power gammainc gammaincc gcd index_fill index_put index_reduce le lcm lgamma logical_and logical_not logical_or logical_xor logit lt
    masked_fill masked_scatter multigammaln nan_to_num ne nextafter polygamma put renorm scatter scatter_add scatter_reduce sgn tril triu xlogy""".split()


def in_place(function, name):
    """The form of `function` that writes its result into its first argument."""

    def write(input, *args, **keywords):
        return input.copy_(function(input, *args, **keywords))

    write.__doc__ = f"{name.removesuffix('_')}, written into `input` itself, which is returned."
    return named(write, name)


def _under(function, name):
    return function.under(name) if isinstance(function, _core.Operator) else named(function, name)


def add_to(functions):
    """Adds all of them to the functions, and to Tensor if the first argument is one."""
    for name in _WRITTEN:
        if name in functions and f"{name}_" not in functions:
            functions[f"{name}_"] = made = in_place(functions[name], f"{name}_")
            setattr(Tensor, f"{name}_", made)
    for name, known in ALIASES.items():
        for ending in ("", "_"):
            if known + ending in functions:
                functions[name + ending] = _under(functions[known + ending], name + ending)
                if hasattr(Tensor, known + ending):
                    setattr(Tensor, name + ending, _under(getattr(Tensor, known + ending), name + ending))
    for name in ("det", "inverse", "pinverse", "slogdet", "matrix_power", "matrix_exp"):
        setattr(Tensor, name, functions[name])
