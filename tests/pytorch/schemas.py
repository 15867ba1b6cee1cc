"""The arguments that a row's schema names, as `backplane ops --json` prints it."""

import re


class Argument:
    def __init__(self, part, is_keyword):
        self.kind, self.name = part.split("=")[0].split()
        self.is_keyword = is_keyword
        self.is_optional, self.kind = self.kind.endswith("?"), self.kind.removesuffix("?")


def arguments_of(schema):
    """In order; those behind `*` are keywords."""
    inside = schema[schema.index("(") + 1 : schema.rindex(") ->")]
    before, _, after = inside.partition("*")
    return [Argument(part, False) for part in split(before)] + [Argument(part, True) for part in split(after)]


def split(text):
    """At the commas that are not inside of a default's brackets."""
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text) if part.strip()]
