"""Runs one file of the package's tests by pytest, on the build's package: run.py FILE --build FOLDER."""

import argparse
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

SKIPPED = 77


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--build", type=Path, required=True)
    options = parser.parse_args()
    python, paths = sys.executable, [options.build / "python"]
    if options.file.parent.name == "peer":
        python = options.build.parent / "peers" / "venv" / "bin" / "python"
        if not python.exists():
            print("skipped: PyTorch is not installed; bench/peers/run.py --install-only does it")
            return SKIPPED
        paths.append(Path(sysconfig.get_path("purelib")))  # pytest itself
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", options.file]
    return subprocess.run(command, env=environment, cwd=options.build).returncode


if __name__ == "__main__":
    sys.exit(main())
