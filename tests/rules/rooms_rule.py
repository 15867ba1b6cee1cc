"""The include path is the permission: a file includes only what its room may see, and never reaches into another room by
a relative path. Who sees whom is read from the rooms' bp_room(... SEES ...), its one home."""

import os
import re

import rule

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)

sees = {"sdk": []}
for listing in rule.source.glob("*/CMakeLists.txt"):
    for room, seen in re.findall(r"^bp_room\((\w+) SEES ([\w ]+?)(?: LIBS| APART|\))", listing.read_text(), re.MULTILINE):
        sees[room] = seen.split()


def rights(room):
    """All that a room sees, directly and through others."""
    return {room}.union(*(rights(seen) for seen in sees[room]))


def home(file):
    """The folder that a file must not leave, and the rooms whose headers it may include."""
    room = file.parts[0]
    if room == "backends" or file.parts[:2] == ("tests", "plugins"):
        depth = 2 if room == "backends" else 3
        return os.path.join(*file.parts[:depth]), {"sdk"}
    if file.parts[:2] == ("conformance", "oracle"):  # it shares no line with any backend, nor with the core
        return os.path.join(*file.parts[:2]), {"sdk"}
    return room, rights(room) if room in sees else set(sees)


core = set(re.search(r"set\(core_rooms ([\w ]+)\)", (rule.source / "CMakeLists.txt").read_text())[1].split())
libraries = [core] + [set(rooms.split()) for listing in rule.source.glob("*/CMakeLists.txt")
                      for rooms in re.findall(r"^bp_library\(\w+ ROOMS ([\w ]+?)(?: LINK|\))", listing.read_text(), re.MULTILINE)]  # fmt: skip
broken, checked = [], 0
for file in rule.files():
    folder, may_see = home(file)
    for header in INCLUDE.findall((rule.source / file).read_text(errors="replace")):
        checked += 1
        if ".." in header and not os.path.normpath(file.parent / header).startswith(folder + os.sep):
            broken.append(f'{file}: includes "{header}", past its own folder {folder}')
        if ".." in header and (rule.source / file.parent / header).is_file():  # found there first
            continue
        for room in set(sees) - may_see:
            if any((rule.source / room / folder_of / header).is_file() for folder_of in ("include", "inside")):
                broken.append(f"{file}: includes <{header}> of {room}, but sees only {', '.join(sorted(may_see))}")
        # What is inside a library is for its rooms, and for tests that link these.
        if "internal" not in file.parts and file.parts[:2] != ("tests", "fuzz"):
            broken += [f"{file}: includes <{header}>, which is for the rooms of {room}'s library alone"
                       for room in sees if (rule.source / room / "inside" / header).is_file()
                       and ("include" in file.parts or not any({room, file.parts[0]} <= library for library in libraries))]  # fmt: skip

# docs/architecture.md says the same.
drawn = dict(re.findall(r"^\| `(\w+)/` \| ([\w ]*)\|", (rule.source / "docs/architecture.md").read_text(), re.MULTILINE))
for room, seen in sees.items():
    if sorted(drawn.get(room, "nothing").split()) != sorted(seen):
        broken.append(f"docs/architecture.md: {room}/ sees {drawn.get(room, 'nothing')} there, and {' '.join(seen)} in its CMakeLists.txt")
rule.report(broken, f"{checked} includes")
