"""Which row an entry of PyTorch's op_db is, and how a sample's arguments are said to it."""

import json
import pathlib

import torch
import yaml

from compare_rows import ROOT
from differences import WITHOUT_PEER
from opinfo_adapters import ADAPTERS, Unmapped
from schemas import arguments_of

# Of the modules that op_db's names begin with, those whose functions are rows under the name behind it.
MODULES = {"nn.functional": "", "special": "", "linalg": "", "fft": "fft_"}
# Said by nobody here: what they are on their own is what we do.
DROPPED = {"size_average": None, "reduce": None, "out": None, "inplace": False, "layout": torch.strided, "pin_memory": False,
           "requires_grad": False, "memory_format": None, "non_blocking": False, "device": None, "sparse_grad": False,
           "sparse": False, "scale_grad_by_freq": False, "max_norm": None, "norm_type": 2.0}  # fmt: skip


def taken(argument, value):
    """`value` as the schema has it."""
    kind = argument.kind
    if value is None:
        return None
    if kind in ("int[]", "float[]") and isinstance(value, (int, float)) and not isinstance(value, bool):
        return [value]
    if kind in ("int[]", "float[]", "Tensor[]", "Tensor?[]") and isinstance(value, (tuple, list)):
        return list(value)
    if kind == "int" and isinstance(value, bool):
        return int(value)
    number = isinstance(value, (int, float, complex))
    fits = {"Tensor": number or isinstance(value, torch.Tensor), "Scalar": number,
            "float": number and not isinstance(value, complex), "int": isinstance(value, int), "bool": isinstance(value, bool),
            "str": isinstance(value, str), "Dtype": isinstance(value, torch.dtype)}.get(kind, False)  # fmt: skip
    if not fits:
        raise Unmapped(f"`{argument.name}` is {kind} here, and {type(value).__name__} there")
    return value


def bound(schema, given, keywords):
    """{name: (kind, value)} of a call in PyTorch's order."""
    arguments = [one for one in arguments_of(schema) if one.kind not in ("Device", "Generator")]
    by_name, named = {one.name: one for one in arguments}, {}
    places, given = [one for one in arguments if not one.is_keyword], list(given)
    for index, value in enumerate(given):
        if index >= len(places):
            raise Unmapped(f"it takes {len(places)} arguments in order")
        rest = given[index:]
        if places[index] is places[-1] and places[index].kind == "int[]" and len(rest) > 1 and all(type(one) is int for one in rest):
            named[places[index].name] = rest
            break
        named[places[index].name] = value
    for name, value in keywords.items():
        name = {"self": "input", "axis": "dim"}.get(name, name)
        if name in by_name:
            named[name] = value
        elif value is not None and name != "device" and (name not in DROPPED or value != DROPPED[name]):
            raise Unmapped(f"it takes no `{name}`")
    # None is PyTorch's word for the default, where the default is another here.
    return {name: (by_name[name].kind, taken(by_name[name], value)) for name, value in named.items()
            if value is not None or by_name[name].is_optional}  # fmt: skip


def tolerances():
    for file in (ROOT / "core_ops/table").glob("*.yaml"):
        for row in yaml.safe_load(file.read_text())["rows"]:
            yield row["op"].split("(")[0], row.get("tolerance", "exact")  # views say none


class Rows:
    def __init__(self, listed, forms):
        self.schemas = {**forms, **{row["op"]: row["schema"] for row in listed}}
        self.dtypes = {row["op"]: set(row["dtypes"]) for row in listed}
        self.tolerances = dict(tolerances())
        for form in forms:
            self.tolerances.setdefault(form, self.tolerances.get(form.removeprefix("form::"), "exact"))
        self.tolerances.update({form: "accumulation" for form in forms if form == "linspace" or form.endswith("_window")})
        names = json.loads(pathlib.Path(__file__).with_name("names.json").read_text())
        self.names = {theirs: ours for ours, theirs in names["counterparts"].items()}
        aliases = yaml.safe_load((ROOT / "core_ops/required.yaml").read_text())["aliases"]
        self.aliases = {name: alias for name, alias in aliases.items() if alias in self.schemas}
        self.told = {name: alias for name, alias in aliases.items() if alias not in self.schemas}

    def row_of(self, name):
        """The row of op_db's `name`, or None."""
        module, _, own = name.rpartition(".")
        if module and module not in MODULES:
            return None
        names = [name.replace(".", "_"), MODULES.get(module, "") + own]
        for one in names:
            for row in (one, self.names.get(one), self.aliases.get(name), self.aliases.get(one)):
                if row in self.schemas:
                    return row
        return None

    def call_of(self, name, row, sample):
        """(row, {argument: (kind, value)})"""
        if name in ADAPTERS or row is None:
            row, places, keywords = ADAPTERS[name](sample.input, *sample.args, **sample.kwargs)
        else:
            places, keywords = [sample.input, *sample.args], sample.kwargs
        return row, bound(self.schemas[row], places, keywords)

    def why_not(self, entry, name):
        """Why no call of the entry is compared; '' if some are."""
        row = self.row_of(entry)
        if name in ADAPTERS:
            return ""
        if row is None:
            alias = next((self.told[one] for one in (entry, entry.rpartition(".")[2]) if one in self.told), None)
            return f"by another name here: {alias}" if alias else "there is no such row"
        return WITHOUT_PEER.get(row, "")

    def takes(self, row, dtype):
        """By its row's declaration; a function that is not a row takes what the rows under it take."""
        row = (row or "").removeprefix("form::")
        return row not in self.dtypes or dtype in self.dtypes[row]
