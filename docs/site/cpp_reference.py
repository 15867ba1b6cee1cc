"""The reference of the C++ and C headers: a page for each room, a section for each header. Doxygen says what is declared and
where; the words are the comment above, which is plain text in these headers and not Doxygen's language."""

import re
import subprocess
import textwrap
import xml.etree.ElementTree as xml
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

TITLE = "Reference of the headers"
# Lists made of the operator table, for programs to read: the pages of the operators are for people.
LEFT_OUT = {"generated/ops.hpp", "generated/schemas.h", "generated/steps.h", "generated/rows.hpp", "generated/abi_sizes.hpp"}
DOXYFILE = """INPUT = {folders}
OUTPUT_DIRECTORY = {output}
STRIP_FROM_PATH = {root}
RECURSIVE = YES
FILE_PATTERNS = *.hpp *.h
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
HAVE_DOT = NO
EXTRACT_ALL = YES
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = BP_API= BP_EXPORT= BP_HIDDEN= BP_SDK=bp::plugin "BP_PRINTF(a,b)="
EXPAND_AS_DEFINED = {expanded}
QUIET = YES
WARNINGS = NO
"""
# Macros that declare classes or functions, defined in the header that uses them.
DECLARING = re.compile(r"#define (BP_\w+)\([^)]*\)\s*\\\n(?:.*\\\n)*?.*\b(?:class|struct|inline|operator)\b")


@dataclass
class Entity:
    """What a header declares. `kind` is the name of Sphinx's directive."""

    kind: str
    signature: str
    name: str
    scope: str
    file: str
    line: int
    end: int
    parts: list = field(default_factory=list)


def write(folder, root, scratch):
    """Writes the pages into `folder`; returns their names in order."""
    by_page = defaultdict(lambda: defaultdict(list))
    for entity in entities(declared(root, scratch)):
        by_page[page_of(entity.file)][entity.file].append(entity)
    folder.mkdir()
    for page, headers in by_page.items():
        (folder / f"{page}.rst").write_text(text_of_page(page, headers, root))
    return sorted(by_page)


def page_of(header):
    room, inside = header.split("/include/backplane/")
    if room != "sdk":
        return room
    return "plugin" if inside.startswith("plugin") else "abi"


# --- what Doxygen found --------------------------------------------------------------------------------------------------


def declared(root, scratch):
    """The compounds of Doxygen's XML."""
    folders = sorted(root.glob("*/include/backplane"))
    macros = {name for folder in folders for file in folder.rglob("*.h*") for name in DECLARING.findall(file.read_text())}
    settings = DOXYFILE.format(folders=" ".join(f'"{folder}"' for folder in folders), output=scratch, root=root,
                               expanded=" ".join(sorted(macros)))  # fmt: skip
    scratch.mkdir(parents=True, exist_ok=True)
    subprocess.run(["doxygen", "-"], input=settings, text=True, check=True, stderr=subprocess.DEVNULL)
    for file in sorted((scratch / "xml").glob("*.xml")):
        yield from xml.parse(file).getroot().findall("compounddef")


def entities(compounds):
    """Those of namespaces and files, and classes, each with its members."""
    found, classes = {}, {}
    for compound in compounds:
        kind, scope = compound.get("kind"), compound.findtext("compoundname")
        if kind in ("class", "struct", "union"):
            if compound.get("prot") != "private" and "<" not in scope:
                classes[scope] = class_of(compound, scope)
        elif kind in ("namespace", "file"):
            for member in compound.iter("memberdef"):
                found.setdefault(member.get("id"), member_of(member, scope if kind == "namespace" else ""))
    for name, one in classes.items():
        outer = classes.get(name.rpartition("::")[0])
        if outer is None:
            found[name] = one
        elif one.scope:
            outer.parts.append(one)
    names = {one.name for one in found.values() if one and one.kind in ("class", "struct", "union")}
    return [one for one in found.values() if one and is_public(one) and not (one.kind == "type" and one.name in names)]  # C's


def is_public(one):
    inside = one.file.partition("/include/backplane/")[2]
    hidden = {"detail", "std", "internal"} & set(one.scope.split("::")) or "@" in one.scope + one.name
    return bool(inside) and not hidden and inside not in LEFT_OUT and not one.file.endswith(tuple(LEFT_OUT))


def class_of(compound, scope):
    outer, _, name = scope.rpartition("::")
    bases = ", ".join(f"{base.get('prot')} {words(base)}" for base in compound.findall("basecompoundref"))
    place = compound.find("location")
    one = Entity(compound.get("kind"), f"{template(compound)}{name}{' : ' + bases if bases else ''}", name, outer,
                 place.get("file"), int(place.get("line")), int(place.get("line")))  # fmt: skip
    members = [member_of(member, "") for member in compound.iter("memberdef") if member.get("prot") != "private"]
    seen = set()  # members of unions without a name are listed as the class's own, maybe twice
    for member in members:
        if member and "@" not in member.signature and (member.kind == "function" or member.name not in seen):
            one.parts.append(member)
            seen.add(member.name)
    return one


def member_of(member, scope):
    kind, name, place = member.get("kind"), member.findtext("name"), member.find("location")
    line = int(place.get("declline") or place.get("line"))
    end = int(place.get("bodyend") or -1)
    made = {"function": function, "variable": variable, "typedef": alias, "enum": enum, "define": macro}.get(kind)
    if not made or not name:
        return None
    directive, signature = made(member, name)
    one = place.get("declfile") or place.get("file")
    return Entity(directive, signature, name, scope, one, line, max(end, line)) if signature else None


def function(member, name):
    front = [word for word in ("static", "explicit") if member.get(word) == "yes"]
    if member.get("virt") in ("virtual", "pure-virtual"):
        front.append("virtual")
    # What the compiler writes by itself needs no words.
    arguments = member.findtext("argsstring")
    if re.search(r"=\s*(default|delete)$", arguments):
        return "function", None
    return "function", template(member) + " ".join([*front, returned(member), name]).replace("  ", " ").strip() + arguments


def returned(member):
    return re.sub(r"\b(static|virtual|explicit|inline|extern)\b ?", "", words(member.find("type")))


def variable(member, name):
    if name.endswith("_") and "::" not in name and member.get("prot") != "public":
        return "member", None
    value = words(member.find("initializer"))
    value = f" {value}" if value and len(value) < 60 and "\n" not in value else ""
    front = "static " if member.get("static") == "yes" else ""
    return "member", template(member) + front + declared_as(returned(member), name, member.findtext("argsstring") or "") + value


def alias(member, name):
    if (member.findtext("definition") or "").startswith(("using", "template")):
        return "type", f"{template(member)}{name} = {words(member.find('type'))}"
    return "type", declared_as(words(member.find("type")), name, member.findtext("argsstring") or "")


def declared_as(type, name, behind):
    """A pointer to a function has its name inside its type, and Doxygen cuts "(*name)(...)" in two, in two ways."""
    if type.endswith("(*)"):
        type, behind = type[:-1], ")" + behind
    return f"{type}{name}{behind}" if type.endswith("(*") else f"{type} {name}{behind}"


def enum(member, name):
    return "enum-class" if member.get("strong") == "yes" else "enum", name


def macro(member, name):
    file = member.find("location").get("file")
    if not name.startswith("BP_") or name.endswith(("_H", "_HPP")):
        return "macro", None
    names = [words(each) for each in member.iter("defname")]
    takes = f"({', '.join(names)})" if member.find("param") is not None and any(names) else ""
    return "macro", None if "generated" in file else name + takes


def template(of):
    listed = of.find("templateparamlist")
    if listed is None:
        return ""
    return f"template<{', '.join(' '.join(filter(None, map(parameter, each))) for each in listed.findall('param'))}> "


def parameter(part):
    if part.tag == "defval":
        return "= " + words(part)
    return words(part) if part.tag in ("type", "declname", "array") else ""


def words(element):
    return "" if element is None else re.sub(r"\s+", " ", "".join(element.itertext())).strip()


# --- what the headers say ------------------------------------------------------------------------------------------------


class Header:
    def __init__(self, path):
        self.lines = path.read_text().split("\n")

    def text(self, line):
        """Of one line, counted from 1, without what is around it."""
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""

    @cached_property
    def first_comment(self):
        return self._comment(1)[1]

    def undefines(self, macro):
        return f"#undef {macro}" in self.lines

    def start_of(self, line):
        """Where the declaration begins that has this line."""
        while line > 1 and self.text(line - 1) and not re.search(r"(^#.*|[;{}:\\]|\*/|//.*)$", self.text(line - 1)):
            line -= 1
        return line

    def comment_above(self, line):
        """Its lines; none if there is none."""
        end = self.start_of(line) - 1
        begin = end
        if self.text(end).endswith("*/"):
            while begin > 1 and "/*" not in self.text(begin):
                begin -= 1
            if not self.text(begin).startswith("/*"):
                return []
        else:
            if not self.text(end).startswith("//"):
                return []
            while self.text(begin - 1).startswith("//"):
                begin -= 1
        return [] if begin == 1 else self._comment(begin)[1]

    def comment_behind(self, line):
        match = re.search(r"[;,{})]\s*(?://|/\*)\s?(.*?)(?:\*/)?$", self.text(line))
        return [match[1].strip()] if match and match[1].strip() else []

    def body(self, one):
        return textwrap.dedent("\n".join(self.lines[one.line - 1 : one.end]))

    def _comment(self, begin):
        """The comment that starts in this line: (the line behind it, its lines)."""
        found, line = [], begin
        if self.text(begin).startswith("/*"):
            while True:
                text = self.text(line)
                found.append(re.sub(r"^(/\*+|\*(?!/))? ?", "", text).replace("*/", "").rstrip())
                line += 1
                if "*/" in text or line > len(self.lines):
                    return line, found
        while self.text(line).startswith("//"):
            found.append(re.sub(r"^//+ ?", "", self.text(line)))
            line += 1
        return line, found


def groups(header, parts):
    """Declarations that share a comment, with it: those below it that have its name, or all of a paragraph that it heads
    alone."""
    listed = []
    for one in sorted(parts, key=lambda each: (each.line, each.name)):
        comment = header.comment_above(one.line) or header.comment_behind(one.end)
        before = listed[-1][0] if listed else None
        near = before and all(header.text(line) for line in range(before[-1].end, one.line))
        same = before and before[-1].kind == one.kind and one.kind in ("function", "member", "macro")
        if near and same and not comment and (base(before[0]) == base(one) or not listed[-1][1]):
            before.append(one)
        elif before and same and before[-1].line == one.line:
            before.append(one)
        else:
            listed.append(([one], comment))
    return listed


def base(one):
    return re.sub(r"(_out|_)$", "", one.name)


# --- the pages -----------------------------------------------------------------------------------------------------------


def text_of_page(page, headers, root):
    title = {"abi": "C: the backend interface", "plugin": "C++: bp::plugin, for writers of backends"}.get(page, f"C++: {page}")
    lines = [title, "=" * len(title), ""]
    for file in sorted(headers):
        header, name = Header(root / file), file.partition("/include/")[2]
        headers[file] = [one for one in headers[file] if one.kind != "macro" or not header.undefines(one.name)]
        lines += [f".. _header-{file}:", "", name, "-" * len(name), "", *prose(header.first_comment), ""]
        for scope in sorted({one.scope for one in headers[file]}):
            of_scope = [one for one in headers[file] if one.scope == scope]
            lines += [f".. cpp:namespace:: {scope or 'NULL'}", ""]
            lines += entries(header, of_scope, "")
    return "\n".join(lines) + "\n"


def entries(header, parts, indent):
    for group, comment in groups(header, parts):
        directive = ("c:" if group[0].kind == "macro" else "cpp:") + group[0].kind
        once = list(dict.fromkeys(one.signature for one in group))
        yield f"{indent}.. {directive}:: {once[0]}"
        yield from (f"{indent}   {' ' * len(directive)}  {signature}" for signature in once[1:])
        yield ""
        inner = indent + "   "
        yield from (inner + line if line else "" for line in prose(comment))
        if group[0].kind.startswith("enum"):
            yield from [f"{inner}.. code-block:: cpp", "", textwrap.indent(header.body(group[0]), inner + "   "), ""]
        for one in group:
            yield from entries(header, one.parts, inner)


def prose(comment):
    """reStructuredText of a comment: what is indented in it is shown as it is."""
    shown, block = [], []
    for line in [*comment, ""]:
        if line.strip():
            block.append(line)
            continue
        shown += paragraphs(block)
        block = []
    return shown


def paragraphs(block):
    pieces, literal = [[]], [False]
    for line in block:
        if line.startswith("  ") != literal[-1]:
            pieces.append([])
            literal.append(line.startswith("  "))
        pieces[-1].append(line)
    for lines, as_is in zip(pieces, literal):
        if as_is:
            yield from [".. code-block:: text", "", *textwrap.indent(textwrap.dedent("\n".join(lines)), "   ").split("\n"), ""]
        elif lines:
            yield from [escaped(" ".join(lines)), ""]


def escaped(text):
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one is left open: none is code
        return re.sub(r"([\\*`|_<>])", r"\\\1", text)
    for i, part in enumerate(parts):
        parts[i] = f"\\ ``{part}``\\ " if i % 2 and part.strip() == part and part else re.sub(r"([\\*|_<>])", r"\\\1", part)
    return "".join(parts).strip()
