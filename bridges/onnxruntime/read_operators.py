"""Writes operators.txt: what ONNX's own schemas say of each operator, from the wheel `onnx`. Run it when a new opset is looked at:

python bridges/onnxruntime/read_operators.py [--check]"""

import sys
from pathlib import Path

import onnx.defs

PLACE = Path(__file__).parent / "operators.txt"
HEAD = "# Written by bridges/onnxruntime/read_operators.py from onnx {version}; do not edit. Operator, version, most inputs, most results: attributes.\n"
MANY = 99


def read():
    text = HEAD.format(version=onnx.__version__)
    schemas = [schema for schema in onnx.defs.get_all_schemas_with_history() if schema.domain == ""]
    for schema in sorted(schemas, key=lambda each: (each.name, each.since_version)):
        counts = [min(count, MANY) for count in (schema.max_input, schema.max_output)]
        attributes = " ".join(sorted(schema.attributes))
        text += f"{schema.name} {schema.since_version} {counts[0]} {counts[1]}: {attributes}".rstrip() + "\n"
    return text


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if PLACE.read_text() == read() else f"{PLACE} is not what onnx {onnx.__version__} says; run {__file__}")
    PLACE.write_text(read())
