"""Pieces of C++ that the emitters share: types, literals, line breaks."""

import textwrap

WIDTH = 100

PARAMETERS = {
    "Tensor": "const Tensor&",
    "Tensor?": "const Tensor&",
    "Tensor[]": "TensorList",
    "Tensor?[]": "TensorList",
    "Scalar": "const Scalar&",
    "Scalar?": "const std::optional<Scalar>&",
    "int": "std::int64_t",
    "int?": "std::optional<std::int64_t>",
    "int[]": "IntList",
    "int[]?": "DimList",
    "float": "double",
    "float?": "std::optional<double>",
    "bool": "bool",
    "str": "std::string_view",
    "Dtype": "Dtype",
    "Dtype?": "std::optional<Dtype>",
    "Device": "Device",
    "Device?": "std::optional<Device>",
    "Generator?": "Generator*",
}
# How a decomposition reads an argument back from a call: rules/arguments.hpp.
READERS = {
    "Tensor": "tensor_arg",
    "Tensor?": "tensor_arg",
    "Tensor[]": "tensors_arg",
    "Tensor?[]": "tensors_arg",
    "Scalar": "scalar_arg",
    "Scalar?": "optional_scalar_arg",
    "int": "int_arg",
    "int?": "optional_int_arg",
    "int[]": "list_arg",
    "int[]?": "dims_arg",
    "float": "real_arg",
    "float?": "optional_real_arg",
    "bool": "bool_arg",
    "str": "text_arg",
    "Dtype": "dtype_arg",
    "Dtype?": "optional_dtype_arg",
    "Device?": "optional_device_arg",
    "Generator?": "generator_arg",
}


def stem(name):
    """Of names in C++ that are longer: none with two underscores."""
    return name.strip("_") + ("_in_place" if name.endswith("_") else "")


def is_tensor_list(arg):
    return arg.type in ("Tensor[]", "Tensor?[]")


def parameter(arg, number=False, with_default=False):
    """`const Scalar& alpha = 1`. number: the overload in which a number stands for the tensor."""
    text = f"{PARAMETERS['Scalar' if number else arg.type]} {arg.name}"
    return text + (f" = {default_of(arg)}" if with_default and arg.default is not None else "")


def default_of(arg):
    if arg.type == "Generator?":
        return "nullptr"
    if arg.default == "None":
        return "{}" if arg.type in ("int[]?", "Tensor?") else "std::nullopt"
    if arg.type == "str":
        return '"' + arg.default.strip("'") + '"'
    if arg.type.startswith("int[]"):
        return "{" + arg.default.strip("[]") + "}"
    return {"True": "true", "False": "false"}.get(arg.default, arg.default)


def value_of(arg, number=False):
    """The argument as a bp_value. number: as in parameter."""
    if is_tensor_list(arg) and not number:
        return f"{arg.name}_value.value()"
    return f"value_of({arg.name}.list())" if arg.type == "int[]?" else f"value_of({arg.name})"


def joined(head, items, tail):
    """`head` + items separated by commas + `tail`, broken into aligned lines where it is too long."""
    line = head + ", ".join(items) + tail
    if len(line) <= WIDTH:
        return line
    lines, current = [], head
    for index, item in enumerate(items):
        end = tail if index + 1 == len(items) else ","
        if current != head and len(current) + 1 + len(item) + len(end) > WIDTH:
            lines.append(current)
            current = " " * len(head) + item + end
        else:
            current += ("" if current == head else " ") + item + end
    return "\n".join([*lines, current])


def comment(text, indent=""):
    return textwrap.fill(text, WIDTH, initial_indent=indent + "// ", subsequent_indent=indent + "// ")


def string(text, indent):
    """A string literal, in pieces of a line each when long; `indent` is that of the pieces."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    pieces = textwrap.wrap(escaped, WIDTH - indent - 4, drop_whitespace=False, break_long_words=False)
    return ("\n" + " " * indent).join(f'"{piece}"' for piece in pieces)


def set_field(name, value, indent=4):
    """`.name = value,` of a designated initializer."""
    return f"{' ' * indent}.{name} = {value},\n"
