"""Modules that are imported when they are first used."""

import os
import sys
from _thread import RLock  # as threading's, which takes longer to import

# A fork waits for it: a module that another thread was importing would never be ready in the child. The package's modules
# import each other by statements, which don't take it, so that whoever holds it gets on.
_importing = RLock()
os.register_at_fork(before=_importing.acquire, after_in_parent=_importing.release, after_in_child=_importing.release)


def import_later(name, package):
    full_name = f"{package}.{name}"
    with _importing:
        __import__(full_name)  # importlib's function would itself be imported first
    return sys.modules[full_name]
