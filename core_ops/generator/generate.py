#!/usr/bin/env python3
"""Derives everything from the operator table: `./dev gen` writes, `--check` compares with what is committed."""

import argparse
import difflib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import batch
import casts
import emit_sdk
import expression
import rows as table_rows
import steps
import suite
import torch_rows
from emit_autograd import emit_autograd, emit_autograd_registration
from emit_docs import emit_docs
from emit_header import emit_header, emit_rows_header, emit_umbrella
from emit_python import emit_python
from emit_source import emit_registration, emit_source

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "bridges/torch"), str(ROOT / "bridges/onnxruntime")]

import generate_entries  # noqa: E402
import generate_recipes  # noqa: E402


def outputs(tables, tried):
    """{path from the tree's root: text}. `tried`: what suite.yaml says."""
    public = "core_ops/include/backplane/core_ops/generated"
    files = {}
    for table, rows in tables.items():
        files[f"core_ops/generated/{table}.cpp"] = emit_source(table, rows)
        files[f"{public}/{table}.hpp"] = emit_header(table, rows)
        if any(row.grad for row in rows):
            files[f"autograd/generated/{table}.cpp"] = emit_autograd(table, rows)
    files["autograd/generated/registration.cpp"] = emit_autograd_registration(tables)
    files["core_ops/generated/registration.cpp"] = emit_registration(tables)
    files[f"{public}/all.hpp"] = emit_umbrella(tables)
    files[f"{public}/rows.hpp"] = emit_rows_header(tables)
    files.update(emit_docs(tables, ROOT))
    all_rows = [row for rows in tables.values() for row in rows]
    files["core_ops/generated/batch_rules.cpp"] = batch.emit_batch_rules(all_rows)
    files["core_ops/generated/cast_rules.cpp"] = casts.emit_cast_rules(all_rows)
    files["samples/generated/row_facts.cpp"] = suite.emit_row_facts(all_rows, tried)
    files["samples/generated/special_cases.cpp"] = suite.emit_special_cases(all_rows)
    files["samples/include/backplane/samples/generated/traits.hpp"] = suite.emit_traits(tried)
    files["python/backplane/_operators.pyi"] = emit_python(all_rows, ROOT)
    files["bridges/torch/generated/rows.cpp"] = torch_rows.emit_rows(all_rows)
    files.update(generate_recipes.outputs(ROOT / "bridges/torch/recipes"))
    files.update(generate_entries.outputs(ROOT / "bridges/onnxruntime/recipes", all_rows))
    kernel_rows = [row for row in all_rows if row.has_kernel]
    files["sdk/include/backplane/generated/ops.hpp"] = emit_sdk.emit_sdk(kernel_rows)
    files["sdk/include/backplane/generated/steps.h"] = steps.emit_steps(all_rows)
    files["sdk/include/backplane/generated/schemas.h"] = emit_sdk.emit_schemas(kernel_rows)
    return files


def load(folder):
    tables = table_rows.load_tables(folder)
    rows = [row for members in tables.values() for row in members]
    expression.derive_decompositions(rows)
    table_rows.check_table(rows)
    return tables


def check(files, root):
    """Prints how the committed files differ; the number of those that do."""
    stale = 0
    for path, text in files.items():
        present = (root / path).read_text() if (root / path).is_file() else ""
        if present != text:
            stale += 1
            changes = difflib.unified_diff(present.splitlines(), text.splitlines(), path, "generated now", lineterm="", n=1)
            print("\n".join(list(changes)[:20]))
    return stale


def write(files, root):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        if not (root / path).is_file() or (root / path).read_text() != text:
            (root / path).write_text(text)
            print(f"wrote {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only; 1 when something is stale")
    options = parser.parse_args()
    try:
        files = outputs(load(ROOT / "core_ops/table"), suite.load_suite(ROOT / "core_ops/suite.yaml"))
    except table_rows.TableError as error:
        sys.exit(f"generate: {error}")
    if not options.check:
        return write(files, ROOT)
    stale = check(files, ROOT)
    if stale:
        sys.exit(f"{stale} generated files are stale; run ./dev gen")


if __name__ == "__main__":
    main()
