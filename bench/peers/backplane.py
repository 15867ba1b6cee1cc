"""Our side: the release build, installed into build/peers/installed, measured as an application sees it."""

import os

import measure
from measure import BUILD, ROOT, BenchError

RELEASE = ROOT / "build" / "release"
PAIRS = RELEASE / "bin" / "backplane_bench_pairs"
HELLO = ROOT / "examples" / "hello" / "hello.cpp"
PYTHON = ROOT / "build" / "python-venv" / "bin" / "python"
INSTALLED = BUILD / "installed"
HELLO_PROGRAM = BUILD / "backplane_hello"
ENVIRONMENT = {**os.environ, "LD_LIBRARY_PATH": str(INSTALLED / "lib")}


def prepare():
    """Installs the release build, and builds the hello application against what was installed."""
    for needed in (PAIRS, HELLO):
        if not needed.exists():
            raise BenchError(f"{needed.relative_to(ROOT)} is missing; ./dev bench builds it")
    BUILD.mkdir(parents=True, exist_ok=True)
    measure.must_run("installing", ["cmake", "--install", str(RELEASE), "--prefix", str(INSTALLED)])
    flags = ["-O2", "-std=c++20", f"-I{INSTALLED}/include", f"-L{INSTALLED}/lib", "-lbackplane"]
    command = [measure.COMPILER, str(HELLO), *flags, "-o", str(HELLO_PROGRAM)]
    measure.must_run(f"building {HELLO.name}", command)


def calls():
    return measure.program([str(PAIRS), "calls"], ENVIRONMENT)


def large():
    return measure.program([str(PAIRS), "large"], ENVIRONMENT)


def attention():
    return measure.program([str(PAIRS), "attention"], ENVIRONMENT)


def memory():
    return measure.program([str(PAIRS), "memory"], ENVIRONMENT)


def convolutions():
    return measure.program([str(PAIRS), "convolutions"], ENVIRONMENT)


def libraries():
    return measure.program([str(PAIRS), "libraries"], ENVIRONMENT)


def training():
    return measure.networks([str(PAIRS), "training"], ENVIRONMENT)


def inference():
    return measure.program([str(PAIRS), "inference"], ENVIRONMENT)


def python():
    """The package of the release build, by the interpreter that it was built for; without one, these rows stay empty."""
    if not PYTHON.exists():
        measure.say(f"{PYTHON.relative_to(ROOT)} is missing: ./dev test makes it, and the package")
        return {}
    environment = {**os.environ, "PYTHONPATH": str(RELEASE / "python")}
    return measure.program([str(PYTHON), str(ROOT / "bench" / "pairs" / "python_steps.py"), "backplane"], environment)


def optimizers():
    return measure.program([str(PAIRS), "optimizers"], ENVIRONMENT)


def files():
    return measure.program([str(PAIRS), "files"], ENVIRONMENT)


def compile():
    return measure.compilation(HELLO, [INSTALLED / "include"])


def start():
    return measure.start([str(HELLO_PROGRAM)], ENVIRONMENT)
