"""What a released header holds cannot change: sdk/abi_lock.py and client/client_lock.py refuse each edit below, tried on a copy,
also with --write."""

import re
import shutil
import subprocess
import sys
import tempfile
import pathlib

import rule

LEVEL = int(re.search(r"#define BP_ABI_LEVEL (\d+)u", (rule.source / "sdk/include/backplane/abi.h").read_text())[1])


def at_level(level):
    return [("abi.h", f"#define BP_ABI_LEVEL {LEVEL}u", f"#define BP_ABI_LEVEL {level}u")]


NEXT = at_level(LEVEL + 1)
FROZEN = len(list((rule.source / "sdk/snapshots").glob("*.*")))  # levels that are released
GROWN = ("abi.h", "  uint64_t max_allocation;", "  uint32_t shade;\n  uint32_t tint;\n  uint64_t max_allocation;")
AT_END = [("abi.h", "} bp_memory;", "  bp_code (*trim)(bp_device* device);\n} bp_memory;"), ("abi.h", "#define BP_PEER_LOST 10", "#define BP_PEER_LOST 10\n#define BP_REFUSED 11")]
REFUSED = {
    "a changed type": NEXT + [("abi.h", "  uint64_t total_memory;", "  int64_t total_memory;")],
    "fields in another order": NEXT + [("abi.h", "  uint32_t kind; ", "  uint32_t was_kind; "), ("abi.h", "  uint32_t flags;      /* BP_OP_* */", "  uint32_t kind;"), ("abi.h", "was_kind", "flags")],
    "a field inserted": NEXT + [GROWN],
    "a field removed": NEXT + [("abi.h", "  uint64_t max_allocation;", "")],
    "a field renamed": NEXT + [("abi.h", "void* host_data;", "void* hosts_data;")],
    "a changed signature": NEXT + [("abi.h", "(*release)(bp_device* device, bp_handle handle)", "(*release)(bp_device* device, bp_handle handle, uint64_t bytes)")],
    "a changed constant": NEXT + [("abi.h", "#define BP_F32 11u", "#define BP_F32 12u")],
    "a constant removed": NEXT + [("abi.h", "#define BP_RETRY 4", "#define BP_AGAIN 4")],
    "a changed name of an extension": NEXT + [("extensions/peer.h", '#define BP_PEER "bp.peer"', '#define BP_PEER "bp.peers"')],
    "a changed function of an extension": NEXT + [("extensions/program.h", "(*make)(void* self, ", "(*make)(")],
    "a frozen struct that grows": NEXT + [("abi.h", "} bp_region;", "  uint64_t space;\n} bp_region;")],
    "a typedef widened": NEXT + [("abi.h", "typedef int32_t bp_code;", "typedef int64_t bp_code;")],
    "growth without a new level": at_level(FROZEN) + AT_END,
    "a new constant without a new level": at_level(FROZEN) + AT_END[1:],
    "a level that falls": at_level(0),
    "a field that leaves padding": NEXT + [("abi.h", "} bp_memory;", "  uint32_t more;\n} bp_memory;")],
    "a changed snapshot": [("../../snapshots/1.0/backplane/abi.h", "uint64_t total_memory;", "int64_t total_memory;")],
}
TAKEN = {"growth at the ends": NEXT + AT_END, "a change of comments": [("abi.h", "the plugin's own fault", "its own fault")]}

CLIENT = "backplane_client.h"
CLIENT_LEVEL = re.search(r"#define BP_CLIENT_LEVEL (\d+)u", (rule.source / "client/include/backplane" / CLIENT).read_text())[1]
HIGHER = [(CLIENT, f"#define BP_CLIENT_LEVEL {CLIENT_LEVEL}u", f"#define BP_CLIENT_LEVEL {int(CLIENT_LEVEL) + 1}u")]
LATER = [(CLIENT, "} bp_client;", "  bp_code (*reset_device)(uint32_t device);\n} bp_client;")]
CLIENT_REFUSED = {
    "a function of callers inserted": HIGHER + [(CLIENT, "  bp_code (*manual_seed)", "  bp_code (*advance)(uint64_t draws);\n  bp_code (*manual_seed)")],
    "a function of callers removed": HIGHER + [(CLIENT, "  bp_code (*manual_seed)(uint64_t seed);", "")],
    "a changed signature of callers": HIGHER + [(CLIENT, "(*find_device)(const char* name, uint32_t* device)", "(*find_device)(const char* name, uint64_t* device)")],
    "a changed tag of callers": HIGHER + [(CLIENT, "#define BP_DEFAULT 0xffffffffu", "#define BP_DEFAULT 0xfffffffeu")],
    "callers' structs that grow without a new level": LATER,
    "a changed entry": HIGHER + [(CLIENT, "BP_EXPORT bp_code bp_get_client_v1(uint32_t level,", "BP_EXPORT bp_code bp_get_client_v1(uint64_t level,")],
    "a changed snapshot of callers": [("../../snapshots/1.0/backplane/backplane_client.h", "uint64_t seed", "uint32_t seed")],
}
CLIENT_TAKEN = {"growth of the table of callers": HIGHER + LATER}

broken = []


def tries(room, tool, lock, taken, table):
    for name, edits in table.items():
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for copied in {"sdk", room}:
                shutil.copytree(rule.source / copied, root / copied)
            for file, old, new in edits:
                path = root / room / "include/backplane" / file
                text = path.read_text()
                if old not in text:
                    broken.append(f"{name}: '{old}' is no longer in {file}; update this rule")
                path.write_text(text.replace(old, new, 1))
            run = subprocess.run([sys.executable, root / room / tool, "--write"], capture_output=True, text=True)
            if (run.returncode == 0) != taken:
                broken.append(f"{name} is {'refused: ' + run.stdout + run.stderr if taken else 'taken'}")
            if not taken and (root / room / lock).read_text() != (rule.source / room / lock).read_text():
                broken.append(f"{name} is refused, but {lock} was written")


for taken, sdk_edits, client_edits in ((False, REFUSED, CLIENT_REFUSED), (True, TAKEN, CLIENT_TAKEN)):
    tries("sdk", "abi_lock.py", "abi.lock", taken, sdk_edits)
    tries("client", "client_lock.py", "client.lock", taken, client_edits)
forbidden, permitted = {**REFUSED, **CLIENT_REFUSED}, {**TAKEN, **CLIENT_TAKEN}
rule.report(broken, f"{len(forbidden)} forbidden edits and {len(permitted)} permitted ones")
