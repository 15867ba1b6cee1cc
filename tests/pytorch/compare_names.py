#!/usr/bin/env python3
"""Holds the names of every row's arguments and results against PyTorch's own signatures, with `self` as `input`.

    tests/pytorch/compare_names.py [--build build/release]

A row's signatures are those of the ATen operator and of the function in torch.nn.functional that have its name, or the
one that names.json gives it; one of them must agree. What differs on purpose is in names.json, each with its reason.
Prints a line for each row that differs otherwise, and for each entry that is not true any more; exits 0, 1 or, without
PyTorch, 77.
"""

import argparse
import inspect
import json
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass

from compare_rows import ROOT, torch
from schemas import arguments_of

SECTIONS = ("left_out", "counterparts", "without", "differ")


@dataclass
class Signature:
    where: str
    places: list
    keywords: list
    results: list

    @property
    def names(self):
        return self.places + self.keywords


def ours(schema):
    results = schema.rpartition(" -> ")[2]
    named = [words.split()[1] for words in results.strip("()").split(",") if " " in words.strip()]
    places, keywords = (
        ["input" if each.name == "self" else each.name for each in arguments_of(schema) if each.is_keyword == is_keyword]
        for is_keyword in (False, True))  # fmt: skip
    return Signature(schema, places, keywords, named)


def theirs(name):
    """What is called `name` there; not what writes into its arguments, but for names that end in _, or has no tensor."""
    found, writes = [], name.endswith("_")
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}"):
        if any(argument.is_out or argument.alias_info and argument.alias_info.is_write and not writes for argument in schema.arguments):
            continue
        if not writes and not any("Tensor" in str(value.type) for value in schema.returns):
            continue
        names = [("input" if argument.name == "self" else argument.name, argument.kwarg_only) for argument in schema.arguments]
        found.append(Signature(
            str(schema), [name for name, is_keyword in names if not is_keyword],
            [name for name, is_keyword in names if is_keyword], [value.name for value in schema.returns if value.name]))  # fmt: skip
    function = getattr(torch.nn.functional, name, None)
    if inspect.isfunction(function):
        parameters = inspect.signature(function).parameters.values()
        if all(parameter.kind is parameter.POSITIONAL_OR_KEYWORD for parameter in parameters):
            found.append(Signature(f"F.{name}", [parameter.name for parameter in parameters], [], []))
    return found


def difference(row, peer, left_out):
    """What names.json says of a row that differs; nothing for one that does not."""
    names = [name for name in peer.names if name not in left_out or name in row.names]
    more, fewer = [name for name in row.names if name not in names], [name for name in names if name not in row.names]
    says = {"ours": more, "torch": fewer} if more or fewer else {}
    common = [name for name in row.places if name in peer.places]
    if common != sorted(common, key=peer.places.index):
        says["order"] = [name for name in peer.places if name in common]
    if peer.results and peer.results != row.results:
        says["results"] = peer.results
    return says


def closest(row, peers, left_out):
    """The smallest difference, and which signature it is from."""
    found = [(difference(row, peer, left_out), peer) for peer in peers]
    return min(found, key=lambda pair: sum(len(part) for part in pair[0].values()))


def judge(schemas, listed):
    """Yields a sentence for each thing that is wrong."""
    left_out, counterparts, without, differ = (listed[section] for section in SECTIONS)
    used = set()
    for section in ("counterparts", "without", "differ"):
        for name in listed[section]:
            if name not in schemas:
                yield f"{name}: names.json has it under '{section}', and there is no such row; take it out"
    for name, schema in schemas.items():
        row, peers = ours(schema), theirs(counterparts.get(name, name))
        if name in without:
            if peers:
                yield f"{name}: names.json says that PyTorch has none, and it has {peers[0].where}; compare with that"
            continue
        if not peers:
            yield f"{name}: PyTorch has nothing of this name; give its counterpart in names.json, or why it has none"
            continue
        says, peer = closest(row, peers, left_out)
        used |= {name for name in peer.names if name in left_out}
        known = dict(differ.get(name, {}))
        reason = known.pop("reason", None)
        if says and says != known:
            yield f"{name}: {schema} differs from {peer.where}: {json.dumps(says)}; take PyTorch's names, or list that in names.json"
        if known and not says:
            yield f"{name}: names.json lists a difference, and there is none any more; take it out"
        if known and not reason:
            yield f"{name}: names.json lists a difference without a reason; give it one"
    for name in left_out:
        if name not in used:
            yield f"{name}: names.json leaves it out, and no signature has it; take it out there"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    options = parser.parse_args()
    rows = subprocess.run([options.build / "bin/backplane", "ops", "--json"], check=True, capture_output=True).stdout
    schemas = {row["op"]: row["schema"] for row in json.loads(rows)}
    listed = json.loads(pathlib.Path(__file__).with_name("names.json").read_text())
    wrong = list(judge(schemas, listed))
    for sentence in wrong:
        print(sentence)
    num_compared = len(schemas) - len(listed["without"])
    print(f"pytorch: the names of {num_compared} rows, {len(listed['differ'])} of them differ on purpose; {len(wrong)} problems")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
