"""docs/coverage/pytorch.md: every operator of PyTorch's that reaches a backend, and what serves it there.

    python bridges/torch/tests/coverage_page.py [--check]

The operators are those of the wheel torch; what serves them is what the built package says, and the recipes' files."""

import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

import backplane_torch
import torch
from absent_operators import problems, reasons

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "coverage" / "pytorch.md"
OTHERS = {  # tensors of kinds that Backplane lacks, and functions of single devices
    "needs sparse tensors": r"sparse|_coo_|_csr|_csc|_bsr|_bsc|^(_)?(coalesce|coalesced|indices|values|_?nnz|crow_indices|col_indices|ccol_indices|row_indices|to_dense|dense_dim|_dimI|_dimV|_indices|_values|_coalesced|hspmm|sspaddmm|_spdiags)",
    "needs quantized tensors": r"quant|q_(scale|zero_point|per_channel)|^q[a-z]*per_channel|int_repr|fbgemm|qint|choose_qparams|^_weight_int|^_wrapped_linear",
    "needs nested tensors": r"nested|jagged|padded_dense",
    "belongs to another maker's library": r"cudnn|miopen|mkldnn|mkl_|xnnpack|mps|cslt|cuda|triton|vulkan|nnpack|_cufft|metal|onednn",
}  # fmt: skip
COMPOSED = "PyTorch composes it from other operators of this list"
TEXT = """\
# PyTorch's operators

Written by `python bridges/torch/tests/coverage_page.py` from the package backplane-torch and torch {version}'s own list; do not edit. Of the {all} operators that
reach a backend (in {overloads} overloads; what PyTorch always composes from others does not), {direct} are served by
[backplane-torch](../torch.md): {rows} by the row of that name, {recipes} by an expression of several rows in the file of that name
(`bridges/torch/recipes/`), {own} by the bridge itself, as they are about memory. Overloads may be served in different ways; a form in
place or with `out=` counts as its operator.

| operator | served by |
|---|---|
{lines}
## Absent

{composed} of these are composed by PyTorch. {cpu} go through PyTorch's CPU, with copies there and back, or are an error in strict mode.
PyTorch's CPU has no kernel for the others.

| operator | on | why |
|---|---|---|
{absent}"""


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


def lines_of_served(groups, served):
    """The table's lines for what is served, and how many operators rows, recipes and the bridge itself serve."""
    rows, files = links(), recipes()
    lines, kinds = "", defaultdict(set)
    for base, names in groups.items():
        ways = set()
        for name in names:
            stem = name.removeprefix("aten::")
            by = served.get(stem)
            if by is None:
                continue
            kinds["recipe" if by == "recipe" else "row"].add(base)
            plain = next((file for known, file in files.items() if known == stem or base_of(known) == base), "a recipe")
            ways.add(plain if by == "recipe" else rows.get(by) or rows.get(by.removesuffix("_"), f"`{by}`"))
        if not ways and is_own(names):
            kinds["own"].add(base)
            ways.add("the bridge")
        if ways:
            lines += f"| {base} | {', '.join(sorted(ways))} |\n"
    return lines, kinds


def has_kernel(names, *keys):
    return any(torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for name in names for key in keys)


def is_own(names):
    return has_kernel(names, "PrivateUse1")


def is_composed(names):
    """Forms with `out=`, which PyTorch derives, say nothing; nor does a composition, if the CPU has kernels for the operator beside it."""
    plain = [name for name in names if not name.partition(".")[2].endswith("out")] or names
    return all(
        has_kernel([name], "CompositeExplicitAutograd")
        or (has_kernel([name], "CompositeExplicitAutogradNonFunctional") and not has_kernel(names, "CPU"))
        for name in plain
    )


def content():
    every = sorted(
        name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::") and not has_kernel([name], "CompositeImplicitAutograd")
    )
    by_base = defaultdict(list)
    for name in every:
        by_base[base_of(name.removeprefix("aten::"))].append(name)
    groups = dict(sorted(by_base.items(), key=lambda each: each[0].lower()))
    served = backplane_torch.served_operators()
    lines, kinds = lines_of_served(groups, served)
    known = reasons()
    absent, places, listed = "", Counter(), []
    for base, names in groups.items():
        if base in kinds["row"] | kinds["recipe"] | kinds["own"]:
            continue
        why = next((kind for kind, pattern in OTHERS.items() if re.search(pattern, base)), None)
        place = "PyTorch's CPU" if has_kernel(names, "CPU") else "nothing"
        if why is None and is_composed(names):
            why, place = COMPOSED, "the device"
        elif why is None:
            listed.append(base)
            why = known.get(base, "")
        places[place] += 1
        absent += f"| {base} | {place} | {why} |\n"
    if found := problems(known, listed):
        sys.exit("\n".join(found))
    return TEXT.format(
        version=torch.__version__.partition("+")[0], all=len(groups), overloads=len(every), direct=len(set().union(*kinds.values())),
        rows=len(kinds["row"]), recipes=len(kinds["recipe"] - kinds["row"]), own=len(kinds["own"]), lines=lines, absent=absent,
        composed=places["the device"], cpu=places["PyTorch's CPU"],
    ).replace("__", "\\_\\_")  # fmt: skip


def main():
    text = content()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        sys.exit(f"{PAGE.relative_to(ROOT)} is not current; run: python bridges/torch/tests/coverage_page.py")


if __name__ == "__main__":
    main()
