"""The peer's side: PyTorch's wheel in a venv of its own, and the programs of this folder against its C++ library."""

import shutil
import sys

import measure
from measure import BUILD, PEERS, ROOT, BenchError

REQUIREMENTS = ROOT / "dependencies" / "pip-bench.txt"
VENV = BUILD / "venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "installed.txt"
PYTHON_NAME = f"python{sys.version_info.major}.{sys.version_info.minor}"
LIBRARY = VENV / "lib" / PYTHON_NAME / "site-packages" / "torch"
INCLUDES = [LIBRARY / "include", LIBRARY / "include" / "torch" / "csrc" / "api" / "include"]

# The same as CMake's Release, which our side is built with.
FLAGS = ["-O3", "-DNDEBUG", "-std=c++20"]
PYTORCH_FLAGS = [
    *(f"-isystem{folder}" for folder in INCLUDES),
    f"-L{LIBRARY}/lib", f"-Wl,-rpath,{LIBRARY}/lib", "-ltorch_cpu", "-lc10",
]
PROGRAMS = {
    "pytorch_overhead": PYTORCH_FLAGS,
    "pytorch_autograd": PYTORCH_FLAGS,
    "pytorch_privateuse1": PYTORCH_FLAGS,
    "pytorch_large": PYTORCH_FLAGS,
    "pytorch_attention": PYTORCH_FLAGS,
    "pytorch_memory": PYTORCH_FLAGS,
    "pytorch_convolutions": PYTORCH_FLAGS,
    "pytorch_libraries": PYTORCH_FLAGS,
    "pytorch_training": PYTORCH_FLAGS,
    "pytorch_inference": PYTORCH_FLAGS,
    "machine": ["-fopenmp"],
}

# The wheel brings CUDA's libraries along: 2.6 GB to download, 5.3 GB installed, as much again while unpacking.
NEEDED_DISK_BYTES = 9e9


def prepare():
    install()
    for name, flags in PROGRAMS.items():
        build(name, flags)


def install():
    """Installs what dependencies/pip-bench.txt names, unless it is there already."""
    wanted = f"# {PYTHON_NAME}\n{REQUIREMENTS.read_text()}"
    if STAMP.exists() and STAMP.read_text() == wanted:
        return
    BUILD.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(BUILD).free
    if free < NEEDED_DISK_BYTES:
        raise BenchError(
            f"PyTorch's wheel needs {NEEDED_DISK_BYTES / 1e9:.0f} GB of disk, and {free / 1e9:.1f} GB are free"
        )
    print(f"installing PyTorch into {VENV.relative_to(ROOT)} (2.6 GB to download, once)", file=sys.stderr)
    measure.must_run("making a venv (Debian: apt-get install python3-venv)",
                     [sys.executable, "-m", "venv", "--clear", str(VENV)])
    measure.must_run("installing PyTorch's wheel",
                     [str(PYTHON), "-m", "pip", "install", "--no-cache-dir", "-r", str(REQUIREMENTS)])
    STAMP.write_text(wanted)


def build(name, flags):
    """Builds one program of this folder, if it is older than its sources or the wheel."""
    source, built = PEERS / f"{name}.cpp", BUILD / name
    sources = [source, PEERS / "measure.hpp", PEERS / "resnet_layers.hpp", PEERS / "resident.hpp",
               PEERS / "ops_cases.hpp", PEERS / "machine.hpp", PEERS / "pytorch_resnet.hpp", STAMP]
    if built.exists() and all(built.stat().st_mtime > file.stat().st_mtime for file in sources):
        return
    print(f"building {name}", file=sys.stderr)
    command = [measure.COMPILER, *FLAGS, str(source), *flags, "-o", str(built)]
    measure.must_run(f"building {name}", command)


def calls():
    return run("pytorch_overhead") | run("pytorch_autograd") | run("pytorch_privateuse1")


def large():
    return run("machine") | run("pytorch_large")


def attention():
    return run("pytorch_attention")


def memory():
    return run("pytorch_memory")


def convolutions():
    return run("pytorch_convolutions")


def libraries():
    return run("pytorch_libraries")


def training():
    return measure.networks([str(BUILD / "pytorch_training")])


def inference():
    return run("pytorch_inference")


def python():
    return measure.program([str(PYTHON), str(ROOT / "bench" / "pairs" / "python_steps.py"), "torch"])


def optimizers():
    return measure.program([str(PYTHON), str(PEERS / "pytorch_optimizers.py")])


def files():
    return measure.program([str(PYTHON), str(PEERS / "pytorch_files.py")])


def compile():
    return measure.compilation(PEERS / "pytorch_hello.cpp", INCLUDES)


def start():
    return measure.start([str(PYTHON), "-c", "import torch; print(torch.ones(1))"])


def run(name):
    return measure.program([str(BUILD / name)])
