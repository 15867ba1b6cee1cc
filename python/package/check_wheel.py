"""Packs a finished wheel as tightly as can be, and judges it: check_wheel.py WHEEL. Its size and its tag, and whether it
runs in a clean virtual environment, in which it may use nothing of this system but what every Linux has."""

import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

MOST_BYTES = 18_000_000

# Fails where something does not work, or comes from elsewhere.
PROGRAM = """
import re, sys, warnings
warnings.simplefilter("error")
import backplane
assert backplane.__file__.startswith(sys.prefix), backplane.__file__
names = [str(each) for each in backplane.devices()]
assert {"cpu:0", "reference:0"} <= set(names), names
try:
    backplane.device("opencl:0")
    raise SystemExit("an OpenCL device, though its drivers are hidden")
except ValueError as error:
    assert "no OpenCL driver is installed here" in str(error), error
for device in ("cpu:0", "reference:0"):
    x = backplane.tensor([1.0, 2.0], device=device, requires_grad=True)
    (x + 1).square().sum().backward()
    assert x.grad.tolist() == [4.0, 6.0], x.grad
a = backplane.ones(300, 200)
assert (a @ a.T).sum().item() == 300 * 300 * 200
backplane.serialize.save({"a": a}, "state.safetensors")
assert backplane.serialize.load("state.safetensors")["a"].shape == (300, 200)
with open("/proc/self/maps") as file:
    mapped = file.readlines()
for line in mapped:
    library = line.split()[-1]
    name = library.rsplit("/", 1)[-1]
    if ".so" in name and not library.startswith((sys.prefix, sys.base_prefix)):
        usual = re.match(r"(libc|libm|libdl|librt|libpthread|libstdc[+][+]|libgcc_s)[.-]|ld-|libpython|.*cpython-", name)
        assert usual or name in STDLIB, line
print(backplane.__version__, *names)
"""


def main():
    wheel = Path(sys.argv[1]).resolve()
    tighten(wheel)
    size = wheel.stat().st_size
    if size > MOST_BYTES:
        sys.exit(f"{wheel.name}: {size / 1e6:.1f} MB; at most {MOST_BYTES / 1e6:.0f} MB")
    with tempfile.TemporaryDirectory() as folder:
        newest = newest_glibc(wheel, Path(folder, "unpacked"))
        if (tagged := re.search(r"manylinux_2_(\d+)_", wheel.name)) and int(tagged[1]) < newest:
            sys.exit(f"{wheel.name}: needs glibc 2.{newest}")
        run_in_clean_environment(wheel, Path(folder, "venv"), Path(folder))
    print(f"{wheel.name}: {size / 1e6:.1f} MB, glibc 2.{newest}")


def tighten(wheel):
    """By libdeflate, which finds more than zlib does; RECORD has hashes of what is packed, and stays right."""
    subprocess.run(["advzip", "-q", "-z", "-2", wheel], check=True)


def newest_glibc(wheel, folder):
    """The minor number of the newest glibc 2 that a library or program in it asks for."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    files = [file for file in folder.rglob("*") if file.is_file() and file.read_bytes()[:4] == b"\x7fELF"]
    text = "".join(
        subprocess.run(["readelf", "-V", file], capture_output=True, text=True, check=True).stdout for file in files
    )
    return max(int(number) for number in re.findall(r"Name: GLIBC_2\.(\d+)", text))


def run_in_clean_environment(wheel, place, folder):
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    clean = {"PATH": f"{place}/bin:/usr/bin:/bin", "HOME": str(folder), "OCL_ICD_VENDORS": "/nowhere/"}

    def run(*command):
        return subprocess.run(command, env=clean, cwd=folder, check=True, text=True, stdout=subprocess.PIPE).stdout

    run(place / "bin/python", "-m", "pip", "install", "-q", "--no-index", "--disable-pip-version-check", str(wheel))
    # What Python itself brings.
    program = "import bz2, ctypes, json, lzma, zlib\n"
    program += "print([line.split()[-1].rsplit('/', 1)[-1] for line in open('/proc/self/maps')])"
    stdlib = run(place / "bin/python", "-c", program)
    print(run(place / "bin/python", "-c", f"STDLIB = {stdlib.strip()}\n{PROGRAM}").strip())
    for command in ([place / "bin/python", "-m", "backplane"], [place / "bin/backplane"]):
        listed = run(*command, "devices")
        if "cpu:0" not in listed:
            sys.exit(f"{command}: devices printed {listed!r}")
    judged = run(place / "bin/python", "-m", "backplane", "conform", "--device", "reference:0", "--level", "0")
    if "nothing failed" not in judged:
        sys.exit(f"python -m backplane conform printed {judged!r}")


if __name__ == "__main__":
    main()
