"""What every rule shares: where the tree and the build are, which files are ours, and how to report."""

import argparse
import fnmatch
import os
import pathlib
import sys

_parser = argparse.ArgumentParser()
_parser.add_argument("--source", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
_parser.add_argument("--build", type=pathlib.Path, default=None)
_options = _parser.parse_args()

source = _options.source
build = _options.build or source / "build/release"

CODE = ("*.h", "*.hpp", "*.c", "*.cpp", "*.cu", "*.cuh")


def files(*names):
    """Our files that match one of these patterns (default: C and C++), relative to the tree's root."""
    for folder, folders, found in os.walk(source):
        folders[:] = sorted(name for name in folders if name not in ("build", "__pycache__") and not name.startswith("."))
        for name in sorted(found):
            if any(fnmatch.fnmatch(name, pattern) for pattern in names or CODE):
                yield (pathlib.Path(folder) / name).relative_to(source)


def plugins():
    """The libraries of the plugins that were built for use, not those of tests."""
    return sorted((build / "lib/backplane").glob("*.so"))


def report(broken, checked):
    """Ends the rule: prints each violation as a sentence."""
    for sentence in broken:
        print(sentence)
    print(f"{len(broken)} violations in {checked}")
    sys.exit(1 if broken else 0)
