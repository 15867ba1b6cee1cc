#!/usr/bin/env python3
"""Writes or checks client/client.lock: what backplane_client.h promises, as sdk/abi_lock.py does for plugins.

    client/client_lock.py --write           after a change that is meant
    client/client_lock.py --check           exits 1 with the first difference
    client/client_lock.py --release 1.1     freezes the level of today as snapshots/1.1
"""
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
SDK = FOLDER.parent / "sdk"
sys.path.insert(0, str(SDK))
import abi_lock  # noqa: E402

TITLE = "# What the C client interface promises on 64-bit machines. Made by client/client_lock.py --write; offsets and sizes in bytes.\n"


def headers(include):
    return [pathlib.Path("backplane/backplane_client.h")]


if __name__ == "__main__":
    sys.exit(abi_lock.run_command(abi_lock.Interface(
        FOLDER, "client.lock", TITLE, headers, "client/client_lock.py", "C", includes=(SDK / "include",))))  # fmt: skip
