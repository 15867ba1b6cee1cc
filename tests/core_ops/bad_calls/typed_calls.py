"""Writes a table of all public functions of core_ops's headers, for bad_calls.cpp to call: typed_calls.py OUTPUT HEADER..."""

import pathlib
import re
import sys

DECLARATION = re.compile(r"^BP_API ([^(;{}]+?[ &])(\w+)\(([^;{}]*)\);", re.MULTILINE)
TYPE = re.compile(r"^(.*?[\w>&*]) ?\b\w+$")  # without the parameter's name


def types_of(parameters):
    """The parameters' types: split at the outermost commas, without names and defaults."""
    parts, depth = [""], 0
    for character in " ".join(parameters.split()):
        depth += (character in "<({") - (character in ">)}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [TYPE.match(part.split("=")[0].strip()).group(1) for part in parts if part.strip()]


output, *headers = sys.argv[1:]
lines = []
for header in headers:
    text = pathlib.Path(header).read_text()
    text = re.sub(r"^namespace detail \{.*?^\}", "", text, flags=re.DOTALL | re.MULTILINE)
    for result, name, parameters in DECLARATION.findall(text):
        if "void" not in parameters and "Options" not in parameters:
            signature = f"{result.strip()} (*)({', '.join(types_of(parameters))})"
            lines.append(f'{{"{name}", [](Values& values) {{ values.call(static_cast<{signature}>(&{name})); }}}},\n')
pathlib.Path(output).parent.mkdir(exist_ok=True)
pathlib.Path(output).write_text("".join(lines))
