"""All cases of compare_modules.py, joined from the files of this folder."""

import importlib
import pathlib


def all_cases():
    files = sorted(pathlib.Path(__file__).parent.glob("*.py"))
    families = [importlib.import_module(f"modules.{file.stem}") for file in files if file.stem not in ("__init__", "cases")]
    return [case for family in families for case in family.CASES]
