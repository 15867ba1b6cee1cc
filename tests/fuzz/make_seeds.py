"""Writes what the fuzzers begin with: make_seeds.py FOLDER [PLUGIN...] fills FOLDER/manifest and FOLDER/elf_lint."""

import json
import pathlib
import struct
import sys

folder = pathlib.Path(sys.argv[1])
good = {"name": "acme", "vendor": "Acme Inc.", "description": "d", "library": "libacme.so", "abi_min": 1, "abi_max": 1,
        "architecture": "x86_64", "sha256": "0" * 64}


def manifests():
    yield json.dumps(good)
    for key in good:
        for value in ("", "../x", "/opt/libx.so", -1, 1.5, 2**40, None, True, [1], {"name": []}, "\0"):
            yield json.dumps({**good, key: value})
        yield json.dumps({k: v for k, v in good.items() if k != key})
    yield json.dumps(good)[:-1] + ', "name": "twice"}'
    yield '{"x": ' + "[" * 100
    yield "[]"


def libraries():
    for plugin in sys.argv[2:]:
        data = pathlib.Path(plugin).read_bytes()
        yield data
        yield data[: len(data) // 2]
        yield data[:0x28] + bytes(8) + data[0x30:0x3C] + bytes(4) + data[0x40:]  # no section headers
        yield data[:0x12] + struct.pack("<H", 183) + data[0x14:]  # aarch64


def write(name, seeds):
    (folder / name).mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (folder / name / f"seed_{number:03}").write_bytes(seed if isinstance(seed, bytes) else seed.encode())


write("manifest", manifests())
write("elf_lint", libraries())
