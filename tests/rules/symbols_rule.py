"""What the linker sees keeps the promises: a plugin exports one symbol and imports none of ours, and libbackplane imports no
vendor's library and little static thread storage."""

import re
import subprocess

import rule

OURS = re.compile(r"\bbp_|\b_Z[A-Z]*2bp\d")  # C names, and C++ names of namespace bp
VENDORS = re.compile(r"dnnl|gomp|OpenCL|cuda|cublas|cudnn|nvrtc|ze_loader|hwy|openblas|mkl|tbb", re.IGNORECASE)


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


broken = []
plugins = rule.plugins()
for plugin in plugins:
    wanted = output("nm", "-D", "--undefined-only", plugin)
    broken += [f"{plugin.name}: imports our symbol {line.split()[-1]}" for line in wanted.splitlines() if OURS.search(line)]
    exported = [line.split()[-1] for line in output("nm", "-D", "--defined-only", plugin).splitlines()]
    if exported != ["bp_get_plugin_v1"]:
        broken.append(f"{plugin.name}: exports {', '.join(exported) or 'nothing'}; it must be bp_get_plugin_v1 alone")
    if " u " in output("nm", "-D", plugin):
        broken.append(f"{plugin.name}: has STB_GNU_UNIQUE symbols")

core = rule.build / "lib/libbackplane.so"
needed = re.findall(r"NEEDED.*\[(.+)\]", output("readelf", "-d", core))
broken += [f"{core.name}: links {library}" for library in needed if VENDORS.search(library)]
# Static thread storage: glibc keeps about 1,600 bytes for all libraries that come in through dlopen.
for size in re.findall(r"^\s*TLS(?:\s+0x\w+){4}\s+(0x\w+)", output("readelf", "-lW", core), re.MULTILINE):
    if int(size, 16) > 1024:
        broken.append(f"{core.name}: {int(size, 16)} bytes of thread-local variables; at most 1,024")
# A program that opened another library late, as Python does with the C++ library, has no static storage left to give it.
for library in rule.build.glob("lib/libbackplane*.so"):
    for symbol in re.findall(r"R_X86_64_TPOFF64\s+\w+ (\w\S*)", output("readelf", "-rW", library)):
        if not OURS.search(symbol):
            broken.append(f"{library.name}: imports {symbol}, a thread-local variable of another library")
rule.report(broken, f"{len(plugins)} plugins and {core.name}")
