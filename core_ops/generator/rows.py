"""The operator table: reads table/*.yaml and checks every row. A row's keys are described in docs/add_an_operator.md."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import yaml

import batch
import casts
import torch_rows

KINDS = """pointwise reduction view matmul convolution gather scatter scan sort random factory composite copy""".split()
PROMOTIONS = ("none", "common", "floating", "compare")
NUMBERS = ("refused", "stored", "wrapped", "clamped", "widened")
# The sets of dtypes that a row may compute in, as C++.
DTYPES = {
    "all": "dtypes::all",
    "computed": "dtypes::computed",
    "numeric": "dtypes::numeric",
    "fractional": "dtypes::floating | dtypes::complex",
    "real": "dtypes::real",
    "real_or_bool": "dtypes::real | set_of(boolean)",
    "floating": "dtypes::floating",
    "floating_or_i64": "dtypes::floating | set_of(i64)",
    "complex": "dtypes::complex",
    "with_complex": "set_of(f32, f64)",
    "single_or_double": "set_of(f32, f64)",
    "single_or_double_or_complex": "set_of(f32, f64) | dtypes::complex",
    "boolean": "set_of(boolean)",
    "integral": "dtypes::integral",
    "integral_or_bool": "dtypes::integral | set_of(boolean)",
    "index": "set_of(i32, i64)",
    "words": "set_of(u32)",
    "octets": "set_of(u8, i8)",
    "eight_bit_floats": "set_of(f8_e4m3fn, f8_e5m2)",
    "quantized": "set_of(u8, i8, u16, i16, i32)",
}
TYPES = """Tensor Tensor? Tensor[] Tensor?[] Scalar Scalar? int int? int[] int[]? float float? bool str Dtype Dtype? Device Device?
Generator?""".split()
KEYS = set(
    """op past hash_of doc kind count expr combine initial decompose uses function grad dtypes promote promoted numbers scalar_ok primitive shape shape_data check special
    samples tolerance since wide mutates draws recipes suite batch linear cast aten onnx complex""".split()
)
DRAWS = ("never", "always", "if_asked")
# What a row says of complex numbers, where its kernels are of real ones.
COMPLEX_KEYS = {"by", "grad", "gives"}
MAX_PRIMITIVES = 40
MIN_SAMPLES = 8
SEVERAL_TILES = "several_tiles"  # the sample that every row must have: it spans several tiles of a tile program


class TableError(Exception):
    """A row that cannot be; the message names file, operator and the way out."""


@dataclass
class Arg:
    name: str
    type: str
    default: str | None = None
    kwonly: bool = False
    scalar_ok: bool = False


@dataclass
class Result:
    name: str
    type: str


@dataclass
class Row:
    table: str
    title: str  # of the table
    name: str
    schema: str
    args: list
    returns: list
    doc: str
    kind: str
    dtypes: str
    samples: list
    tolerance: str
    since: str
    expr: str | None = None
    combine: str | None = None
    past: list = field(default_factory=list)
    hash_of: str | None = None
    initial: float = 0
    decompose: str | None = None
    uses: list | None = None
    custom_function: bool = False
    grad: dict = field(default_factory=dict)
    promote: str = "none"
    promoted: list = field(default_factory=list)
    numbers: str = "refused"
    primitive: bool = False
    shape: str | None = None
    shape_data: bool = False
    check: str | None = None
    special: list = field(default_factory=list)
    wide: bool | None = None
    mutates: list = field(default_factory=list)
    count: str | None = None
    draws: str = "never"
    # How it is tried: see suite.py.
    recipes: str | None = None
    suite: dict = field(default_factory=dict)
    suite_class: str | None = None  # of the table
    # Of transforms and of other systems: a rule for a batch dimension, the arguments that the row is linear in, what autocast
    # does, and the operators that it is elsewhere.
    batch: str | dict | None = None  # see batch.py
    linear: list = field(default_factory=list)
    cast: str | None = None  # see casts.py
    aten: list | None = None  # see torch_rows.py
    onnx: list = field(default_factory=list)
    complex: dict = field(default_factory=dict)

    def arg_bits(self, names):
        return sum(1 << index for index, arg in enumerate(self.args) if arg.name in names)

    @property
    def scalar_ok_lists(self):
        return [arg.name for arg in self.args if arg.scalar_ok and arg.type == "Tensor[]"]

    @property
    def hashed(self):
        """What the schema's hash is taken from: the schema under the names that it was first published with."""
        return self.hash_of or self.schema

    @property
    def returns_list(self):
        return bool(self.returns) and self.returns[-1].type == "Tensor[]"

    @property
    def has_kernel(self):
        """May a backend have a kernel of it? Of a composite row, where its shape rule says what that would give."""
        return self.kind not in ("view", "composite") or (self.kind == "composite" and bool(self.shape))

    @property
    def widens(self):
        """Does the decomposition of 16-bit floats compute in f32? One that casts has seen to it; products are too dear."""
        if self.wide is not None:
            return self.wide
        return self.kind in ("pointwise", "reduction") and self.tolerance != "exact" and "cast" not in (self.uses or [])


def parse_schema(text):
    """(name, args, results) of `name(Tensor input, *, Scalar alpha=1) -> Tensor`."""
    match = re.fullmatch(r"(\w+)\((.*)\) -> (.+)", text)
    if not match:
        raise TableError(f"{text!r} is not a schema; write it like 'name(Tensor input, *, Scalar alpha=1) -> Tensor'")
    name, inside, after = match.groups()
    args, kwonly = [], False
    for part in filter(None, (part.strip() for part in inside.split(","))):
        if part == "*":
            kwonly = True
            continue
        found = re.fullmatch(r"(\w+\??(?:\[\])?\??) (\w+)(?:=(.+))?", part)
        if not found or found[1] not in TYPES:
            raise TableError(f"{name}: cannot read the argument {part!r}; the types are {', '.join(TYPES)}")
        args.append(Arg(found[2], found[1], found[3], kwonly))
    results = []
    for part in filter(None, after.strip("()").split(",")):
        kind, _, result = part.strip().partition(" ")
        if kind not in ("Tensor", "Tensor[]"):
            raise TableError(f"{name}: a result is a Tensor or Tensor[], not {kind!r}")
        results.append(Result(result, kind))
    return name, args, results


def without_names(schema):
    name, args, results = parse_schema(schema)
    return name, [(arg.type, arg.default, arg.kwonly) for arg in args], [result.type for result in results]


def make_row(table, content, data):
    name, args, returns = parse_schema(data.get("op", ""))
    unknown = set(data) - KEYS
    if unknown:
        raise TableError(f"{table}: {name} has unknown keys {', '.join(sorted(unknown))}")
    for arg in args:
        arg.scalar_ok = arg.name in data.get("scalar_ok", [])
    kind = data.get("kind")
    promote = data.get("promote", "none")
    promoted = data.get("promoted")
    if promoted is None:
        promoted = [arg.name for arg in args if arg.type in ("Tensor", "Scalar")] if promote != "none" else []
        promoted = [arg for arg in promoted if kind == "pointwise" and arg != "alpha"]
    return Row(
        table=table, title=content.get("title", table), name=name, schema=data["op"], args=args, returns=returns, doc=data.get("doc", ""), kind=kind,
        dtypes=data.get("dtypes", "all"), samples=data.get("samples", []), tolerance=data.get("tolerance", "exact"),
        since=data.get("since", content["since"]), expr=data.get("expr"), combine=data.get("combine"), past=data.get("past", []),
        hash_of=data.get("hash_of"), initial=float(data.get("initial", 0)), decompose=data.get("decompose"), uses=data.get("uses"),
        custom_function=data.get("function") == "custom", grad=data.get("grad", {}), promote=promote, promoted=promoted,
        numbers=data.get("numbers", "refused"),
        primitive=bool(data.get("primitive")), shape=data.get("shape") or ("pointwise" if kind == "pointwise" else None),
        shape_data=bool(data.get("shape_data")), check=data.get("check"), special=data.get("special", []), wide=data.get("wide"),
        mutates=data.get("mutates", []), count=data.get("count"), draws=data.get("draws", "never"),
        recipes=data.get("recipes", content.get("recipes")), suite=data.get("suite", {}), suite_class=content.get("suite"),
        batch=data.get("batch"), linear=data.get("linear", []), cast=data.get("cast"),
        aten=data.get("aten"), onnx=data.get("onnx", []), complex=data.get("complex", {}),
    )  # fmt: skip


def check_row(row):
    """Raises TableError for what the generator could not make sense of."""

    def require(condition, problem):
        if not condition:
            raise TableError(f"{row.table}: {row.name}: {problem}")

    arg_names = {arg.name for arg in row.args}
    require(row.hash_of != row.schema, "hash_of is the present schema; drop it")
    require(
        without_names(row.hashed) == without_names(row.schema),
        f"hash_of {row.hash_of!r} differs from the present schema in more than names; write that schema with its first names",
    )
    first_names = [(arg.name, arg.type) for arg in parse_schema(row.hashed)[1]]
    for past in row.past:
        name, args, _ = parse_schema(past)
        older = [(arg.name, arg.type) for arg in args]
        now = first_names[: len(args)]
        # A kernel that has a whole number there serves the calls that give one.
        now = [(arg, "int" if old == (arg, "int") and kind == "Scalar" else kind) for old, (arg, kind) in zip(older, now)]
        same = name == row.name and older == now and len(args) <= len(first_names)
        require(same, f"the past schema {past!r} is not the beginning of the present one; add arguments at the end")
        require(all(arg.default for arg in row.args[len(args) :]), f"what came after {past!r} has no default")
    require(row.doc and row.doc[-1] in ".)", "'doc' is a sentence that ends with a full stop")
    require(row.kind in KINDS, f"kind {row.kind!r} is none of {', '.join(KINDS)}")
    require(row.dtypes in DTYPES, f"dtypes {row.dtypes!r} is none of {', '.join(DTYPES)}")
    require(row.promote in PROMOTIONS, f"promote {row.promote!r} is none of {', '.join(PROMOTIONS)}")
    require(row.numbers in NUMBERS, f"numbers {row.numbers!r} is none of {', '.join(NUMBERS)}")
    require(set(row.promoted) <= arg_names, f"promoted {row.promoted} names no argument")
    require(set(row.mutates) <= arg_names, f"mutates {row.mutates} names no argument")
    require(row.draws in DRAWS, f"draws {row.draws!r} is none of {', '.join(DRAWS)}")
    require(set(row.linear) <= arg_names, f"linear {row.linear} names no argument")
    require(isinstance(row.onnx, list), "'onnx' is a list of names")
    if row.complex:
        require(row.kind in ("pointwise", "reduction"), "'complex' is for pointwise rows and reductions; the decomposition of others sees the dtype itself")
        require(
            "by" in row.complex and set(row.complex) <= COMPLEX_KEYS and row.complex.get("gives", "real") == "real",
            "'complex' says 'by', may say 'grad', and 'gives: real'",
        )
        is_told = row.kind == "pointwise" or "grad" in row.complex  # those of reductions may hold for both
        require(not is_told or set(row.complex.get("grad", {})) == set(row.grad), "'complex' has a 'grad' for the same arguments as the row")
    derived = {name for names in row.grad for name in names.split(", ")}
    require(derived <= arg_names, f"grad {list(row.grad)} names no argument")
    require(len(set(row.samples)) == len(row.samples), "a sample is listed twice")
    require(len(row.samples) >= MIN_SAMPLES, f"{len(row.samples)} samples; at least {MIN_SAMPLES}")
    require(SEVERAL_TILES in row.samples, f"no sample spans several tiles; add {SEVERAL_TILES}")
    require(row.returns or row.mutates, "without results or 'mutates' nothing comes of a call; name what it writes into")
    require(row.returns or row.kind == "composite", "a row without results is composite")
    for name in row.scalar_ok_lists:
        require(row.kind == "composite", f"a number in place of the list {name!r} is for composite rows alone")
    lists = [result for result in row.returns if result.type == "Tensor[]"]
    require(not lists or (len(row.returns) == 1 and row.kind in ("view", "composite")), "a Tensor[] is the only result of a view or a composite row")
    require((row.kind == "pointwise") == bool(row.expr), "a pointwise row has an expr, and no other row")
    require(
        not row.combine or row.kind in ("reduction", "scan", "scatter"), "only what accumulates has 'combine' and 'initial'"
    )
    require(row.has_kernel == bool(row.shape), "a row that reaches a kernel has a shape rule, and no other row")
    require(
        row.primitive or row.kind == "view" or row.expr or row.decompose,
        "neither primitive nor decomposed; give it one of 'primitive: true' and 'decompose'",
    )
    require(not (row.primitive and row.decompose), "primitive and decomposed; drop one")
    for keys in (batch, casts, torch_rows):
        require(not (problem := keys.problem_of(row)), problem)


def check_table(rows):
    names = [row.name for row in rows]
    for name in set(names):
        if names.count(name) > 1:
            raise TableError(f"{name} is in the table {names.count(name)} times")
    primitives = [row.name for row in rows if row.primitive]
    if len(primitives) > MAX_PRIMITIVES:
        raise TableError(f"{len(primitives)} primitives; at most {MAX_PRIMITIVES}")
    check_reaches_primitives(rows)


def check_reaches_primitives(rows):
    """Every row ends in primitives and views, without going in a circle. `uses` must be derived already."""
    by_name = {row.name: row for row in rows}
    done = set()

    def visit(row, path):
        if row.primitive or row.kind == "view" or row.name in done:
            return
        if row.name in path:
            raise TableError(f"{row.name} decomposes into itself: {' -> '.join([*path, row.name])}")
        for used in row.uses or []:
            if used not in by_name:
                raise TableError(f"{row.name} uses {used!r}, which is not in the table")
            visit(by_name[used], [*path, row.name])
        done.add(row.name)

    for row in rows:
        visit(row, [])


def load_tables(folder: Path):
    """{table name: rows}, in the order of the files' names."""
    tables = {}
    for file in sorted(folder.glob("*.yaml")):
        content = yaml.safe_load(file.read_text())
        rows = [make_row(file.stem, content, data) for data in content["rows"]]
        for row in rows:
            check_row(row)
        tables[file.stem] = rows
    return tables
