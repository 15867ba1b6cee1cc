"""Packs what `cmake --install build/release --component torch --prefix FOLDER` has written into a wheel.

python bridges/torch/package/make_wheel.py FOLDER build/wheels"""

import base64
import hashlib
import sys
import zipfile
from pathlib import Path


def record_line(name, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def make_wheel(folder, target):
    facts = next(folder.glob("*.dist-info"))
    tag = next(line.split(": ")[1] for line in (facts / "WHEEL").read_text().splitlines() if line.startswith("Tag: "))
    target.mkdir(parents=True, exist_ok=True)
    wheel = target / f"{facts.stem}-{tag}.whl"
    record = ""
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            name, content = file.relative_to(folder).as_posix(), file.read_bytes()
            archive.writestr(name, content)
            record += record_line(name, content)
        archive.writestr(f"{facts.name}/RECORD", record + f"{facts.name}/RECORD,,\n")
    return wheel


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(make_wheel(Path(sys.argv[1]), Path(sys.argv[2])))
