"""What may change from one lock to a later one: additions, at ends, under a higher level. Everything else is refused."""
import re

# Counts and versions rise with what they count.
RISING = re.compile(r"BP_(ABI|CLIENT)_LEVEL|BP_NUM_\w+|BP_\w+_VERSION")


def parse(lock):
    """{name: (kind, [value or fields])} of a lock's text."""
    entries, fields = {}, None
    for line in lock.splitlines():
        if line.startswith("  "):
            fields.append(line.strip())
        elif match := re.fullmatch(r"(struct) (\w+): (\d+)", line):
            fields = [match[3]]
            entries[match[2]] = ("struct", fields)
        elif match := re.fullmatch(r"(constant|text) (\w+) = (.+)", line):
            entries[match[2]] = (match[1], [match[3]])
        elif line and not line.startswith(("#", "header ")):
            kind, declaration = line.split(" ", 1)
            name = re.search(r"\(\*(\w+)\)|(\w+)\(|(\w+)$", declaration)
            entries[kind + " " + next(filter(None, name.groups()))] = (kind, [declaration])
    return entries


def level_name(entries):
    return next(name for name in ("BP_ABI_LEVEL", "BP_CLIENT_LEVEL") if name in entries)


def level_of(entries):
    return int(entries[level_name(entries)][1][0])


def grows(fields):
    """Whether a struct says its own size, so that it may grow."""
    return fields[1:2] == ["0 16 bp_header h"] or fields[1:3] == ["0 4 uint32_t size", "4 4 uint32_t flags"]


def refusals(old, new, what):
    """Sentences: what in `new` breaks the promise that `old`, called `what`, has given."""
    is_higher = level_of(new) > level_of(old)
    broken = []
    level = level_name(new)
    if level_of(new) < level_of(old):
        broken.append(f"{level} is {level_of(new)}, below that of {what}, {level_of(old)}")
    for name, (kind, content) in old.items():
        if name not in new or new[name][0] != kind:
            broken.append(f"{name} is in {what}, and was removed, renamed or made something else")
        elif kind == "struct":
            broken += refused_fields(name, content, new[name][1], is_higher, what)
        elif content != new[name][1] and not (RISING.fullmatch(name) and is_higher and int(new[name][1][0]) > int(content[0])):
            broken.append(f"{name} is {content[0]} in {what}, and was changed to {new[name][1][0]}")
    added = [name for name in new if name not in old]
    if added and not is_higher:
        broken.append(f"{added[0]} is new, but {level} is that of {what}, {level_of(old)}; raise it")
    return broken


def refused_fields(name, old, new, is_higher, what):
    for before, now in zip(old[1:], new[1:] + [None] * len(old)):
        if before != now:
            return [f"{name}: '{before}' is in {what}, and is '{now or 'missing'}' now; structs grow at their end only"]
    if old == new:
        return []
    if not grows(old):
        return [f"{name} is frozen as in {what}: it does not say its own size"]
    if not is_higher:
        return [f"{name} has grown, but the level is that of {what}; raise it"]
    if len(new) > len(old) and int(new[len(old)].split()[0]) < int(old[0]):
        return [f"{name}: '{new[len(old)]}' lies in what was padding in {what}: nobody could tell whether it is there"]
    return []


def padded(entries):
    """Structs that end with padding, in which a later field would hide."""
    for name, (kind, fields) in entries.items():
        if kind == "struct" and grows(fields):
            offset, size = map(int, fields[-1].split()[:2])
            if offset + size < int(fields[0]):
                yield f"{name} ends with {int(fields[0]) - offset - size} bytes of padding; fill it with a reserved field"
