"""Where the names of core_ops/required.txt come from: the array API, PyTorch's functions, ONNX, and models that run.

An operator of one meaning is one name, PyTorch's where PyTorch has it, without `linalg`, `fft` or `special`. Any other
keeps the name that its source has for it. The source stands in front if PyTorch calls something else so
(`array_api.repeat`); ONNX's are told by their spelling.
"""

import functools
from collections import defaultdict

import array_api_strict
import counted_calls
import measure
import onnx
import torch
import traced_models

# PyTorch has something else under these names.
HOMONYMS = {"equal", "repeat", "take"}
HOMONYMS_OF_ONNX = {"Equal", "Flatten", "Gather", "Max", "Mean", "Min", "Multinomial", "Range", "Resize", "Shape", "Size",
                    "Sum", "Transpose"}  # fmt: skip
# What array-api-strict has beside the standard.
STRICTS_OWN = {"ArrayAPIStrictFlags", "Device", "get_array_api_strict_flags", "set_array_api_strict_flags",
               "reset_array_api_strict_flags"}  # fmt: skip
# Control flow and sequences; an Optional is a sequence of one or none.
ASIDE_OF_ONNX = ("If", "Loop", "Scan", "Sequence", "SplitToSequence", "ConcatFromSequence", "Optional")
OPSET = 21


def collect(functions_of_pytorch):
    """{name: its sources}"""
    sources = defaultdict(list)
    for what, found in {
        "the array API's functions": from_array_api,
        f"PyTorch's {functions_of_pytorch} most used functions": lambda: from_pytorch(functions_of_pytorch),
        "ONNX's operators": from_onnx,
        "the models' operators": from_models,
    }.items():
        measure.say(what)
        for name, source in found():
            sources[name].append(source)
    return sources


def from_array_api():
    strict = array_api_strict
    strict.set_array_api_strict_flags(api_version="2024.12")
    for place, module in (("", strict), ("linalg.", strict.linalg), ("fft.", strict.fft)):
        for name in sorted(set(module.__all__) - STRICTS_OWN):
            function = getattr(module, name)
            if callable(function) and not isinstance(function, type) and not is_newer(function):
                known = name if name in strict.__all__ else known_as(f"{place}{name}")
                yield f"array_api.{name}" if name in HOMONYMS else known, f"array_api:{place}{name}"


def is_newer(function):
    """Does array-api-strict refuse it under the version that is set? It does so before it looks at arguments."""
    try:
        function()
    except RuntimeError as error:
        return "requires API version" in str(error)
    except Exception:
        pass
    return False


def from_pytorch(count):
    for name, places in counted_calls.most_used(count).items():
        yield name, ", ".join(f"torch:{place}" if place != "torch" else "torch" for place in places)


def from_onnx():
    newest = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and newest.get(schema.name, schema).since_version <= schema.since_version <= OPSET:
            newest[schema.name] = schema
    for name, schema in newest.items():
        if not schema.deprecated and not name.startswith(ASIDE_OF_ONNX):
            yield name if name in HOMONYMS_OF_ONNX else by_letters().get(letters(name), name), f"onnx:{name}"


def from_models():
    torch.set_num_threads(1)
    met = defaultdict(lambda: defaultdict(set))
    for operator, models in traced_models.operators_met().items():
        place, name = operator.split("::")
        name = name if name.startswith("__") else name.rstrip("_")  # in place
        met[known_as(name)][f"{place}:{name}"].update(models)
    for name, operators in met.items():
        yield name, ", ".join(f"{operator}({', '.join(sorted(models))})" for operator, models in sorted(operators.items()))


def known_as(name):
    """The public name of `_softmax`, `linalg_det`, `linalg.det` and `fft_fft`; others are known as they are."""
    whole = name.removeprefix("_")
    for place in ("linalg", "fft", "special"):
        if whole.startswith((f"{place}_", f"{place}.")):
            short = whole[len(place) + 1 :]
            if short in public_names():
                return f"{place}.{short}" if (place, short) in counted_calls.HOMONYMS else short
    return whole if whole in public_names() else name


@functools.cache
def public_names():
    return {name.rstrip("_") for names in counted_calls.public_functions().values() for name in names}


@functools.cache
def by_letters():
    """{letters of a name: the name}, of PyTorch's operators and public functions."""
    operators = {schema.name.removeprefix("aten::") for schema in torch._C._jit_get_all_schemas()}
    operators = {name for name in operators if name.isidentifier() and not name.startswith("_") and not name.endswith("_")}
    return {letters(name): name for name in [*sorted(operators), *sorted(public_names())]}


def letters(name):
    return name.replace("_", "").lower()
