"""Which public functions a row gets: the functional form, in place and out=, each with numbers in place of tensors."""

import itertools
from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    kind: str  # "functional", "in_place" or "out"

    def name(self, row):
        return row.name + {"functional": "", "in_place": "_", "out": "_out"}[self.kind]

    def out_names(self, row):
        if self.kind != "out":
            return []
        return ["out"] if len(row.returns) == 1 else [result.name for result in row.returns]


FUNCTIONAL, IN_PLACE, OUT = Form("functional"), Form("in_place"), Form("out")


def forms_of(row):
    forms = [FUNCTIONAL]
    if row.kind == "pointwise" and row.promote != "compare" and row.args[0].name == "input":
        forms.append(IN_PLACE)
    if row.returns and row.has_kernel and row.kind not in ("factory", "random", "copy", "composite") and not row.shape_data:
        forms.append(OUT)
    return forms


def overloads_of(row, form):
    """Sets of arguments that are numbers; at least one tensor remains, and in place the first."""
    optional = [arg.name for arg in row.args if arg.scalar_ok]
    tensors = {arg.name for arg in row.args if arg.type in ("Tensor", "Tensor[]")}
    for size in range(len(optional) + 1):
        for numbers in itertools.combinations(optional, size):
            if numbers and not tensors - set(numbers):
                continue
            if form is IN_PLACE and row.args[0].name in numbers:
                continue
            yield set(numbers)


def result_type(row, form):
    if form is IN_PLACE:
        return "const Tensor&"
    if row.returns_list:
        return "std::vector<Tensor>"
    if not row.returns:
        return "void"
    if len(row.returns) == 1:
        return "const Tensor&" if form is OUT else "Tensor"
    return "void" if form is OUT else result_struct(row)


def result_struct(row):
    return "".join(part.capitalize() for part in row.name.split("_")) + "Result"


def call_function(row, form):
    """The statements after `args` is built."""
    count = len(row.args)
    if not row.returns:
        return f"  dispatch(Call{{ops::{row.name}, args, {count}, nullptr, 0}});\n"
    if len(row.returns) > 1:
        return call_many(row, form, count)
    if row.returns_list:
        return f"  return call_all(ops::{row.name}, args, {count});\n"
    path = row.kind if row.kind in ("pointwise", "view") else "one"
    if form is FUNCTIONAL:
        return f"  return call_{path}(ops::{row.name}, args, {count});\n"
    target = row.args[0].name if form is IN_PLACE else "out"
    return f"  call_{path}_into(ops::{row.name}, args, {count}, {target});\n  return {target};\n"


def call_many(row, form, count):
    results = len(row.returns)
    if form is OUT:
        given = ", ".join(result.name for result in row.returns)
        return f"  Tensor results[] = {{{given}}};\n  call_many_into(ops::{row.name}, args, {count}, results, {results});\n"
    moved = ", ".join(f"std::move(results[{index}])" for index in range(results))
    return (
        f"  Tensor results[{results}];\n  dispatch(Call{{ops::{row.name}, args, {count}, results, {results}}});\n"
        f"  return {{{moved}}};\n"
    )
