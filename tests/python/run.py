"""Runs one file of the package's tests by pytest, on the build's package: run.py FILE --build FOLDER."""

import argparse
import fcntl
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

SKIPPED = 77
WANTED = Path(__file__).parents[2] / "dependencies" / "pip-ecosystem.txt"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--python", type=Path, help="another Python, which needs no pytest of its own")
    parser.add_argument("--beside", type=Path, help="a virtual environment whose packages that Python finds too, if it is there")
    options = parser.parse_args()
    python, paths = sys.executable, [options.build / "python"]
    peer = options.file.parent.name == "peer"
    if peer:
        python = options.build.parent / "peers" / "venv" / "bin" / "python"
        if not python.exists():
            print("skipped: PyTorch is not installed; bench/peers/run.py --install-only does it")
            return SKIPPED
    if "onnxruntime" in options.file.parts:
        python = options.build.parent / "peers" / "ortvenv" / "bin" / "python"
        if not python.exists() and not options.python:
            print("skipped: ONNX Runtime is not installed; make build/peers/ortvenv by dependencies/pip-onnxruntime.txt")
            return SKIPPED
    if options.python:
        python = options.python
    if python != sys.executable:
        paths.append(Path(sysconfig.get_path("purelib")))  # pytest itself
    if options.file.parent.name == "ecosystem":
        python = ecosystem(options.build.parent / "ecosystem-venv")
        if python is None:
            print("skipped: SciPy, scikit-learn, xarray and a notebook's kernel could not be installed from PyPI")
            return SKIPPED
        paths.append(Path(sysconfig.get_path("purelib")))
    if options.beside:
        paths.extend(options.beside.glob("lib/python*/site-packages"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONDONTWRITEBYTECODE": "1"}
    if peer:
        environment["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # PyTorch as it is without our bridge
    command = [python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", options.file]
    return subprocess.run(command, env=environment, cwd=options.build).returncode


def ecosystem(place):
    """The Python of an environment with what dependencies/pip-ecosystem.txt names; None: PyPI cannot be reached."""
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests begin at the same time
        mark, python = place / "installed.txt", place / "bin" / "python"
        if not mark.exists() or mark.read_text() != WANTED.read_text():
            install = [python, "-m", "pip", "install", "-q", "-r", WANTED]
            for command in ([sys.executable, "-m", "venv", place], install):
                if subprocess.run(command).returncode != 0:
                    return None
            mark.write_text(WANTED.read_text())
    return python


if __name__ == "__main__":
    sys.exit(main())
