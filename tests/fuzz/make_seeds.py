"""Writes what the fuzzers begin with: make_seeds.py FOLDER [PLUGIN...] fills a folder in FOLDER for each."""

import collections
import io
import json
import pathlib
import pickle
import struct
import sys
import zipfile

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


def safetensors():
    def file(header, size=0):
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + bytes(size)

    for dtype, size in (("F32", 4), ("BOOL", 1), ("F8_E4M3", 1), ("C64", 8), ("F4", 1)):
        yield file({"a": {"dtype": dtype, "shape": [2, 3], "data_offsets": [0, 6 * size]}}, 6 * size)
    two = {"a": {"dtype": "U8", "shape": [], "data_offsets": [0, 1]}, "b": {"dtype": "I16", "shape": [2], "data_offsets": [1, 5]}}
    yield file(two, 5)
    yield file({"__metadata__": {"format": "pt"}, **two}, 5)
    yield file({**two, "none": {"dtype": "F64", "shape": [0, 7], "data_offsets": [5, 5]}}, 5)
    yield file({"a": {"dtype": "F32", "shape": [2**62, 2**62], "data_offsets": [0, 0]}})
    yield file(b'{"a":{},"a":{}}')
    yield file(b"{" + b'"x":[' * 50)


def indexes():
    shards = {"a": "m-1.safetensors", "b": "m-2.safetensors"}
    yield json.dumps({"metadata": {"total_size": 8, "more": [{}, [1.5, None]]}, "weight_map": shards})
    for other in ("../x", "..", "/x", "", 1, [], {}, None):
        yield json.dumps({"weight_map": {**shards, "c": other}})
    yield '{"weight_map": {"a": "x", "a": "y"}}'
    yield '{"weight_map": "x", "weight_map": {}}'


def states():
    checkpoint = ["step", 3, "model", {"dict": ["w", {"tensor": "model.w"}]}, "lr", 0.1, "none", None, "on", True]
    yield json.dumps({"dict": checkpoint})
    yield json.dumps({"dict": ["a", [1, -1, 1e300, -0.0, 2**63 - 1, -(2**63)], {"bytes": "ff00"}, {"float": "7ff0000000000000"}]})
    for other in ('{"float":"fff8000000000001"}', '{"bytes":"0"}', '{"dict":["a"]}', '{"dict":["a",1,"a",2]}', "18446744073709551615", '"\\ud800"'):
        yield other
    yield "[" * 150 + "]" * 150
    yield "[" * 250 + "]" * 250


class Called:
    """Pickles as a call of a function of PyTorch's, of which no module is here."""

    def __init__(self, *arguments):
        self.arguments = arguments

    def __reduce__(self):
        return type(self), self.arguments


def called(name):
    module, _, function = name.rpartition(".")
    sys.modules.setdefault(module, type(sys)(module))
    made = type(function, (Called,), {"__module__": module})
    setattr(sys.modules[module], function, made)
    return made


class Storage:
    def __init__(self, key, numel):
        self.id = ("storage", called("torch.FloatStorage"), key, "cpu", numel)


def pickles():
    class Pickler(pickle.Pickler):
        def persistent_id(self, value):
            return value.id if isinstance(value, Storage) else None

    def dumped(value, protocol=2):
        out = io.BytesIO()
        Pickler(out, protocol=protocol).dump(value)
        return out.getvalue()

    tensor = called("torch._utils._rebuild_tensor_v2")(Storage("0", 6), 0, (2, 3), (3, 1), False, collections.OrderedDict())
    parameter = called("torch._utils._rebuild_parameter")(tensor, True, collections.OrderedDict())
    plain = {"a": [1, 2.5, None, True, "text", -(2**40)], 3: (1, (2, 3)), "b": b"bytes"}
    for protocol in (2, 3, 4, 5):
        yield dumped(plain, protocol)
        yield dumped({"w": tensor, "again": tensor, "p": parameter}, protocol)
    yield dumped(collections.OrderedDict(w=tensor, size=called("torch.Size")((2, 3)), device=called("torch.device")("cuda", 1)))
    yield dumped(collections.Counter([1, 1, 2]))
    yield dumped(called("os.system_")("true"))


def archives():
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        for names in (["a/data.pkl", "a/data/0", "a/byteorder"], ["x"], []):
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w", method) as archive:
                for name in names:
                    archive.writestr(name, bytes(range(100)) * 3)
            yield out.getvalue()


def write(name, seeds):
    (folder / name).mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (folder / name / f"seed_{number:03}").write_bytes(seed if isinstance(seed, bytes) else seed.encode())


write("manifest", manifests())
write("elf_lint", libraries())
write("safetensors", safetensors())
write("index", indexes())
write("state", states())
write("pickle", pickles())
write("zip", archives())
