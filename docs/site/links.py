"""Links from a signature of C++ to the types that it names. Sphinx's own search tries every symbol for each of twelve thousand
words, which takes three minutes; here it is one look into a table."""

from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

TYPES = {"class", "struct", "union", "enum", "type"}
_tables = {}


class LinkTypes(SphinxPostTransform):
    default_priority = 5  # before Sphinx's

    def run(self):
        waiting = [node for node in self.document.findall(lambda each: each.get("refdomain") == "cpp" if hasattr(each, "get") else 0)
                   if node.tagname == "pending_xref"]  # fmt: skip
        if not waiting:
            return
        name = self.env.current_document.docname if hasattr(self.env, "current_document") else self.env.docname
        for node in waiting:
            places = types_of(self.env).get(node["reftarget"].rpartition("::")[2], [])
            here = [place for place in places if place[0] == name]
            place = (here or places)[0] if len(here) == 1 or len(places) == 1 else None
            inside = node.children
            node.replace_self(make_refnode(self.app.builder, name, *place, inside, node["reftarget"]) if place else inside)


def types_of(env):
    """Where each type is described, by the last part of its name."""
    if id(env) not in _tables:
        table = _tables[id(env)] = {}
        for full, _, kind, page, anchor, _ in env.domains.cpp_domain.get_objects():
            if kind in TYPES:
                table.setdefault(full.rpartition("::")[2], []).append((page, anchor))
    return _tables[id(env)]
