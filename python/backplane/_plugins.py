"""Plugins that pip installed. They are looked for when devices are listed, or one is asked for that nobody knows:
asking every installed package takes longer than the import of this one.

A package tells of its plugins in one of two ways:

* files in share/backplane/plugins of the environment, a library and its manifest, as the wheel has them that
  `backplane new-backend` makes;
* an entry point of the group "backplane.backends", which is the path of a manifest or of a folder with such, or a
  function that returns one, or a module in whose folder they lie.
"""

import json
import os
import sys
import types
import warnings
from pathlib import Path

GROUP = "backplane.backends"
_reasons = {}  # why a plugin has no device here, by the backend's name
_candidates = None  # of this process, by the library's path; one that was tried is gone


def places():
    """[(what tells of it, a path)], in the order in which they are looked at. What is broken gets a warning and is left
    out."""
    found = []
    folder = Path(sys.prefix, "share/backplane/plugins")
    if folder.is_dir():
        found.append(("this environment", folder))
    from importlib.metadata import entry_points  # slow to import

    for entry in entry_points(group=GROUP):
        who = f"the entry point '{entry.name} = {entry.value}'" + (f" of {entry.dist.name}" if entry.dist else "")
        try:
            found.append((who, _path_of(entry.load())))
        except (Exception, SystemExit) as error:  # whatever a stranger's module raises
            _warn(f"{who} tells of no plugin: {type(error).__name__}: {error}")
    return found


def environment():
    """The variables of this process, for a program that is to find the same plugins."""
    variables = dict(os.environ)
    paths = [variables.get("BACKPLANE_PLUGIN_PATH", "")] + [str(path) for _, path in places()]
    variables["BACKPLANE_PLUGIN_PATH"] = ":".join(filter(None, paths))
    return variables


def load(name=None):
    """Loads the plugins that may offer a device of this name, or all. Was there one that could be loaded?"""
    global _candidates
    if _candidates is None:
        _candidates = {}  # before others' code runs, which may come back here
        try:
            _candidates = _found()
        except BaseException:  # Ctrl-C, or warnings that are errors: the next call looks again
            _candidates = None
            raise
    parts = None if name is None else name.split(":")
    wanted = [each for each in _candidates.items() if parts is None or each[1][0] is None or each[1][0] in parts]
    return any([_load_one(library, *_candidates.pop(library)) for library, _ in wanted if library in _candidates])


def reason(name):
    """Why the plugin that would offer this device has none; empty if no plugin has said so."""
    return "; ".join(_reasons[part] for part in name.split(":") if part in _reasons)


def _load_one(library, name, who):
    from . import _core

    try:
        _core.load_backend(library)
    except _core.UnsupportedError as error:  # nothing here for it to drive
        _reasons[name] = str(error)
        return False
    except Exception as error:
        _warn(f"the plugin {name or library} of {who} is left out: {error}")
        return False
    return True


def _path_of(given):
    if callable(given):
        given = given()
    if isinstance(given, types.ModuleType):
        given = next(iter(getattr(given, "__path__", [])), None) or Path(given.__file__).parent
    path = Path(os.path.abspath(os.fspath(given)))
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    return path


def _found():
    found = {}
    for who, path in places():
        try:
            files = sorted(path.glob("*.json")) if path.is_dir() else [path]
            for file in files:
                name, library = _read(file)
                found.setdefault(str(library), (name, who))
        except (OSError, ValueError, KeyError, TypeError) as error:
            _warn(f"{path}, of {who}, has no manifest of a plugin: {type(error).__name__}: {error}")
    return found


def _read(file):
    """(the backend's name, its library) of a manifest; of a library, no name is known before it is loaded."""
    if file.suffix != ".json":
        return None, file.resolve()
    content = json.loads(file.read_text())
    return str(content["name"]), (file.parent / content["library"]).resolve()


def _warn(sentence):
    warnings.warn("backplane: " + sentence, RuntimeWarning, stacklevel=2)
