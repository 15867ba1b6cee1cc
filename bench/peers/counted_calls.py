"""Which of PyTorch's functions Python programs call most.

The programs are eight libraries, PyTorch's own layers among them, as pip-trace.txt pins them. A function's use is the
share of a library's files that call it, among those that import torch, averaged over the libraries, so that the largest
does not decide alone. A form that writes in place counts for the function. What this does not see: operators written as
such (`a + b`, `a[i]`), and whether the object of a call `x.mean()` is a tensor.
"""

import ast
import importlib.util
import types
from collections import Counter, defaultdict
from pathlib import Path

import torch

LIBRARIES = {
    "torch": ["nn", "optim", "distributions"], "torchvision": [""], "transformers": [""], "diffusers": [""], "timm": [""],
    "kornia": [""], "torchmetrics": [""], "pyro": [""],
}  # fmt: skip
PLACES = {
    "torch": torch, "Tensor": torch.Tensor, "nn.functional": torch.nn.functional, "linalg": torch.linalg, "fft": torch.fft,
    "special": torch.special,
}  # fmt: skip
HOMONYMS = {("nn.functional", "unfold"), ("linalg", "polar"), ("linalg", "diagonal")}
# A call of such a method says nothing of tensors: `names.add(...)`. The last two are more often those of pictures and
# of distributions.
METHODS_OF_OTHERS = {name for kind in (str, bytes, list, dict, set, tuple) for name in dir(kind)} | {"resize", "mode"}
# What stands in a module of functions, and computes nothing.
HELPERS = {"torch._C", "torch.overrides", "torch._jit_internal", "torch._torch_docs"}


def most_used(count):
    """The `count` most used functions, most used first, as {name: places where it is called}."""
    public = public_functions()
    use, places = Counter(), defaultdict(set)
    for library, folders in LIBRARIES.items():
        root = Path(importlib.util.find_spec(library).submodule_search_locations[0])
        files = [file for folder in folders for file in sorted((root / folder).rglob("*.py"))]
        calls = [called for called in map(calls_in, files) if called is not None]
        for called in calls:
            known = {(place, name_of(place, name)) for place, name in called if name in public.get(place, ())}
            for place, name in known:
                places[name].add(place)
            for name in {name for _, name in known}:
                use[name] += 1 / len(calls) / len(LIBRARIES)
    ranked = sorted(use, key=lambda name: (-use[name], name))[:count]
    return {name: [place for place in PLACES if place in places[name]] for name in ranked}


def public_functions():
    """{place: names}: those that PyTorch has an operator for, or writes in Python in a module of functions."""
    return {place: {name for name in dir(module) if is_function(place, module, name)} for place, module in PLACES.items()}


def name_of(place, name):
    """Without the mark of a form that writes in place; with its place where another function has the name."""
    return f"{place}.{name}" if (place, name) in HOMONYMS else name.rstrip("_")


def is_function(place, module, name):
    value = getattr(module, name, None)
    if name.startswith("_") or not callable(value) or isinstance(value, (type, types.ModuleType)):
        return False
    if place in ("torch", "Tensor"):
        return takes_tensors(name) or name in torch.functional.__all__
    home = getattr(value, "__module__", None) or ""
    return home.startswith("torch") and home not in HELPERS


def takes_tensors(name):
    """Does an ATen operator of this name take or give a tensor? So it is with `add`, and not with `manual_seed`."""
    schemas = torch._C._jit_get_schemas_for_operator(f"aten::{name}")
    return any("Tensor" in str(value.type) for schema in schemas for value in (*schema.arguments, *schema.returns))


def calls_in(file):
    """{(place, name)} of what may be PyTorch's functions; None if the file does not import torch."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    imported = dict(name for node in ast.walk(tree) for name in names_of(node))
    if not any(path.split(".")[0] == "torch" for path in imported.values()):
        return None
    called = {call_of(node.func, imported) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return called - {None}


def names_of(node):
    """(name, the module or member that it stands for) for each name that an import makes."""
    if isinstance(node, ast.Import):
        return [(each.asname, each.name) if each.asname else (each.name.split(".")[0],) * 2 for each in node.names]
    if isinstance(node, ast.ImportFrom):
        return [(each.asname or each.name, f"{'.' * node.level}{node.module or ''}.{each.name}") for each in node.names]
    return []


def call_of(function, imported):
    """(place, name), or None where it cannot be a call of PyTorch."""
    path, node = [], function
    while isinstance(node, ast.Attribute):
        path.insert(0, node.attr)
        node = node.value
    if isinstance(node, ast.Name) and node.id in imported:
        whole = ".".join([imported[node.id], *path])
        place, _, name = whole.rpartition(".")
        return ("torch" if place == "torch" else place.removeprefix("torch."), name) if whole.startswith("torch.") else None
    if not path or isinstance(node, ast.Constant) or path[-1] in METHODS_OF_OTHERS:
        return None
    return "Tensor", path[-1]
