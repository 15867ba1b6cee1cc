#!/usr/bin/env python3
"""A Python wheel of the plugin and its manifest, with Python alone: wheel.py BUILD_FOLDER TARGET_FOLDER.

`pip install` puts both where Backplane looks: Python's package finds them in any environment; for programs in C++, which
look in `pip install --user`'s place alone, let BACKPLANE_PLUGIN_PATH name the environment's share/backplane/plugins."""
import base64, hashlib, pathlib, platform, sys, zipfile

NAME, VERSION = "backplane_acme", "0.1"
build, target = map(pathlib.Path, sys.argv[1:])
tag = f"py3-none-linux_{platform.machine()}"
info, data = f"{NAME}-{VERSION}.dist-info", f"{NAME}-{VERSION}.data/data/share/backplane/plugins"
files = {f"{data}/{name}": (build / name).read_bytes() for name in ("libbackplane_acme.so", "acme.json")}
files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n".encode()
files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()


def record(name, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


files[f"{info}/RECORD"] = ("".join(record(*each) for each in files.items()) + f"{info}/RECORD,,\n").encode()
target.mkdir(parents=True, exist_ok=True)
with zipfile.ZipFile(target / f"{NAME}-{VERSION}-{tag}.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
    for name, content in files.items():
        wheel.writestr(name, content)
