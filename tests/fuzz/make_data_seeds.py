"""Writes what the fuzzers of data/ begin with: make_data_seeds.py FOLDER PICTURES, where PICTURES has files as hexadecimal text."""

import gzip
import io
import pathlib
import re
import struct
import sys
import zipfile

folder = pathlib.Path(sys.argv[1])


def tables():
    for text in ("x,y\n1,2\n3,4\n", '"a,b","c""d"\n"1\n",2\n', "1;2\n3;\n", "\ufeffa\r\n+1e5\r\n\r\nnan\r\n"):
        for how in range(8):
            yield bytes([how]) + text.encode()


def arrays():
    for descr, width in (("<f4", 4), (">i2", 2), ("|b1", 1), ("<c16", 16), ("|O", 8)):
        for version in (1, 2, 3):
            header = f"{{'descr': '{descr}', 'fortran_order': {version == 2}, 'shape': (2, 3), }}\n".encode()
            length = struct.pack("<H" if version == 1 else "<I", len(header))
            yield b"\x93NUMPY" + bytes([version, 0]) + length + header + bytes(6 * width)


def grids():
    for code, width in ((8, 1), (9, 1), (11, 2), (12, 4), (13, 4), (14, 8), (7, 1)):
        data = bytes([0, 0, code, 2]) + struct.pack(">II", 2, 3) + bytes(6 * width)
        yield data
        yield gzip.compress(data, mtime=0)


def archives():
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", method) as archive:
            for name, array in zip("abc", arrays()):
                archive.writestr(f"{name}.npy", array)
            archive.writestr("large.npy", bytes(200000))
        yield file.getvalue()


def pictures():
    text = pathlib.Path(sys.argv[2]).read_text()
    for definition in re.findall(r"string_view \w+ =\n([^;]*);", text):
        file = bytes.fromhex("".join(re.findall(r'"([0-9a-f]+)"', definition)))
        for mode in range(5):
            yield bytes([mode]) + file


def write(name, seeds):
    (folder / name).mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (folder / name / f"seed_{number:03}").write_bytes(seed)


write("csv", tables())
write("numpy", arrays())
write("idx", grids())
write("npz", archives())
write("image", pictures())
