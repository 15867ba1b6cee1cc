"""docs/coverage/pytorch.md: every operator of PyTorch's that reaches a backend, and what serves it there.

    python bridges/torch/tests/coverage_page.py [--check]

The operators are those of the wheel torch; what serves them is what the built package says, and the recipes' files."""

import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "coverage" / "pytorch.md"
OTHERS = {  # tensors of kinds that Backplane lacks, and functions of single devices
    "sparse": r"sparse|_coo_|_csr|_csc|_bsr|_bsc|^(_)?(coalesce|coalesced|indices|values|_?nnz|crow_indices|col_indices|ccol_indices|row_indices|to_dense|dense_dim|_dimI|_dimV|_indices|_values|_coalesced|hspmm|sspaddmm|_spdiags)",
    "quantized": r"quant|q_(scale|zero_point|per_channel)|^q[a-z]*per_channel|int_repr|fbgemm|qint|choose_qparams|^_weight_int|^_wrapped_linear",
    "nested": r"nested|jagged|padded_dense",
    "another maker's library": r"cudnn|miopen|mkldnn|mkl_|xnnpack|mps|cslt|cuda|triton|vulkan|nnpack|_cufft|metal|onednn",
}  # fmt: skip
TEXT = """\
# PyTorch's operators

Written by `python bridges/torch/tests/coverage_page.py` from the package backplane-torch and torch {version}'s own list; do not edit. Of the {all} operators that
reach a backend (in {overloads} overloads; what PyTorch always composes from others does not), {direct} are served by
[backplane-torch](../torch.md): {rows} by the row of that name, {recipes} by an expression of several rows in the file of that name
(`bridges/torch/recipes/`). Overloads may be served in different ways; a form in place or with `out=` counts as its operator.

| operator | served by |
|---|---|
{lines}
## Composed by PyTorch

From operators of the list above, where the device has no kernel: {composed}

## By PyTorch's CPU

With copies there and back, or an error in strict mode, since no row computes them: {cpu}

## Absent

PyTorch's CPU has no kernel for these either: {nowhere}

{others}"""


def links():
    """{row: a link to its page}"""
    found = {}
    for page in sorted((ROOT / "docs" / "operators").glob("*.md")):
        for name in re.findall(r"^## (\w+)$", page.read_text(), re.MULTILINE):
            found[name] = f"[{name}](../operators/{page.name}#{name})"
    return found


def recipes():
    """{operator with its overload: the file that has its recipe}"""
    found = {}
    for file in sorted((ROOT / "bridges/torch/recipes").glob("*.yaml")):
        for name in re.findall(r"^\s*- aten: ([\w.]+)\(", file.read_text(), re.MULTILINE):
            found.setdefault(name.removesuffix(".default"), f"`{file.name}`")
    return found


def base_of(name):
    """`add.out`, `add_.Tensor` and `add.Tensor` are one operator."""
    base = name.partition(".")[0]
    return base[:-1] if base.endswith("_") and not base.endswith("__") else base


def content():
    import torch

    import backplane_torch

    has = torch._C._dispatch_has_kernel_for_dispatch_key
    every = sorted(name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::") and not has(name, "CompositeImplicitAutograd"))
    served, rows, files = backplane_torch.served_operators(), links(), recipes()
    groups = defaultdict(list)
    for name in every:
        groups[base_of(name.removeprefix("aten::"))].append(name)
    lines, kinds, composed, cpu, nowhere, others = "", defaultdict(set), [], [], [], defaultdict(list)
    for base, names in sorted(groups.items(), key=lambda each: each[0].lower()):
        ways = set()
        for name in names:
            by = served.get(name.removeprefix("aten::"))
            if by is not None:
                is_recipe = by == "recipe"
                kinds["recipe" if is_recipe else "row"].add(base)
                stem = name.removeprefix("aten::")
                plain = next((file for known, file in files.items() if known == stem or base_of(known) == base), "a recipe")
                ways.add(plain if is_recipe else rows.get(by) or rows.get(by.removesuffix("_"), f"`{by}`"))
        other = next((kind for kind, pattern in OTHERS.items() if re.search(pattern, base)), None)
        if ways:
            lines += f"| {base} | {', '.join(sorted(ways))} |\n"
        elif other:
            others[other].append(base)
        elif any(has(name, "CompositeExplicitAutograd") or has(name, "CompositeExplicitAutogradNonFunctional") for name in names):
            composed.append(base)
        elif any(has(name, "CPU") for name in names):
            cpu.append(base)
        else:
            nowhere.append(base)
    told = "".join(f"Of {kind if kind.startswith('another') else kind + ' tensors'}: {', '.join(names)}\n\n" for kind, names in others.items())
    return TEXT.format(
        version=torch.__version__.partition("+")[0], all=len(groups), overloads=len(every), direct=len(kinds["row"] | kinds["recipe"]),
        rows=len(kinds["row"]), recipes=len(kinds["recipe"] - kinds["row"]), lines=lines, composed=", ".join(composed), cpu=", ".join(cpu),
        nowhere=", ".join(nowhere), others=told.rstrip() + "\n",
    ).replace("__", "\\_\\_")  # fmt: skip


def main():
    text = content()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        sys.exit(f"{PAGE.relative_to(ROOT)} is not current; run: python bridges/torch/tests/coverage_page.py")


if __name__ == "__main__":
    main()
