"""Judges the wheel backplane-cuda: check_cuda_wheel.py CUDA_WHEEL BACKPLANE_WHEEL. What lies in it, what it asks for, and that
the package finds it in a clean virtual environment, where without a card there is no device and no warning. Where there is a
card, with NVIDIA's wheels from PyPI (--with-nvidia), a product is computed on it."""

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

MOST_BYTES = 10_000_000
RUNPATH = "$ORIGIN/../nvidia/cu13/lib:$ORIGIN/../nvidia/cudnn/lib"
SYSTEMS = re.compile(r"(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s)\.so|ld-linux")
PROGRAM = """
import sys, warnings
warnings.simplefilter("error")
import backplane as bp
from backplane import _plugins
places = _plugins.places()
assert any(path.name == "backplane_cuda" for _, path in places), places
names = [str(each) for each in bp.devices()]
if "cuda:0" in names:
    a = bp.ones(64, 32, device="cuda:0")
    assert (a @ a.T).cpu().sum().item() == 64 * 64 * 32
elif "--card" in sys.argv:
    sys.exit(f"no cuda:0 among {names}")
else:
    try:
        bp.device("cuda:0")
    except ValueError as error:
        assert "NVIDIA" in str(error), error
        print(error)
print(*names)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("backplane", type=Path)
    parser.add_argument("--with-nvidia", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        check_contents(options.wheel, Path(folder, "unpacked"))
        run_in_clean_environment(options, Path(folder, "venv"))
    print(f"{options.wheel.name}: {options.wheel.stat().st_size / 1e6:.1f} MB")


def check_contents(wheel, folder):
    if wheel.stat().st_size > MOST_BYTES or "-py3-none-" not in wheel.name:
        sys.exit(f"{wheel.name}: it must serve every Python 3 and have at most {MOST_BYTES / 1e6:.0f} MB")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    found = {str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file() and "dist-info" not in str(each)}
    if found != {f"backplane_cuda/{name}" for name in ("__init__.py", "cuda.json", "libbackplane_cuda.so")}:
        sys.exit(f"{wheel.name}: has {sorted(found)}")
    library = folder / "backplane_cuda/libbackplane_cuda.so"
    dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    foreign = [name for name in re.findall(r"NEEDED.*\[(.+)\]", dynamic) if not SYSTEMS.match(name)]
    if foreign or f"[{RUNPATH}]" not in dynamic:
        sys.exit(f"{wheel.name}: needs {foreign}, and looks in {re.findall('RUNPATH.*', dynamic)}")


def run_in_clean_environment(options, place):
    python = place / "bin/python"
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*install, "--no-index", options.backplane], check=True)
    subprocess.run([*install, *([] if options.with_nvidia else ["--no-deps", "--no-index"]), options.wheel], check=True)
    subprocess.run([python, "-c", PROGRAM, *(["--card"] if options.with_nvidia else [])], check=True)


if __name__ == "__main__":
    main()
