"""Expressions of rows: parsed with Python's own parser, turned into bp_expr_node steps or into calls of operators."""

import ast
import re

import steps
from rows import TableError

BINARY = steps.written_as(ast.BinOp, lambda form: type(form.op))
COMPARE = steps.written_as(ast.Compare, lambda form: type(form.ops[0]))
LOGIC = steps.written_as(ast.BoolOp, lambda form: type(form.op))
UNARY = steps.written_as(ast.UnaryOp, lambda form: type(form.op))
CALLS = steps.written_as(ast.Call, lambda form: form.func.id)
ARITY = {step.code: step.num_operands for step in steps.STEPS}
# The operator of the table that does a step.
OPERATORS = {step.code: step.row for step in steps.STEPS if step.row}


def parse(text):
    """A tree of (code, operands...), ("ARG", name) and ("CONST", number)."""
    try:
        return _tree(ast.parse(text, mode="eval").body)
    except SyntaxError as error:
        raise TableError(f"expression {text!r}: {error.msg}") from error


def _tree(node):
    if isinstance(node, ast.Name):
        return ("ARG", node.id)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return ("CONST", node.value)
    if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
        return (BINARY[type(node.op)], _tree(node.left), _tree(node.right))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return ("CONST", -node.operand.value)
    if isinstance(node, ast.UnaryOp) and type(node.op) in UNARY:
        return (UNARY[type(node.op)], _tree(node.operand))
    if isinstance(node, ast.BoolOp):
        result = _tree(node.values[0])
        for value in node.values[1:]:
            result = (LOGIC[type(node.op)], result, _tree(value))
        return result
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARE:
        return (COMPARE[type(node.ops[0])], _tree(node.left), _tree(node.comparators[0]))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
        code = CALLS[node.func.id]
        if len(node.args) != ARITY[code]:
            raise TableError(f"{node.func.id} takes {ARITY[code]} operands, not {len(node.args)}")
        return (code, *map(_tree, node.args))
    raise TableError(f"{ast.unparse(node)!r} is not an expression of a row; see core_ops/steps.yaml")


def nodes_of(text, arg_names):
    """The list of (code, a, b, c, imm); equal parts are computed once. The last step is the result. `acc` is what was
    accumulated so far."""
    nodes, known = [], {}

    def add(node):
        if node not in known:
            known[node] = len(nodes)
            nodes.append(node)
        return known[node]

    def visit(tree):
        code, *operands = tree
        if tree == ("ARG", "acc"):
            return add(("ACC", 0, 0, 0, 0))
        if code == "ARG":
            if operands[0] not in arg_names:
                raise TableError(f"expression {text!r}: {operands[0]!r} is not an argument")
            return add(("ARG", arg_names.index(operands[0]), 0, 0, 0))
        if code == "CONST":
            return add(("CONST", 0, 0, 0, operands[0]))
        places = [visit(operand) for operand in operands]
        return add((code, *places, *[0] * (3 - len(places)), 0))

    visit(parse(text))
    return nodes


def as_calls(text):
    """The expression as nested calls of operators: what a row without a decomposition of its own decomposes into."""

    def visit(tree):
        code, *operands = tree
        if code in ("ARG", "CONST"):
            return str(operands[0])
        return f"{OPERATORS[code]}({', '.join(map(visit, operands))})"

    return visit(parse(text))


def derive_decompositions(rows):
    """Fills in `decompose` from the expression where a row has none of its own, and `uses` where it is not given."""
    names = {row.name for row in rows}
    for row in rows:
        if row.expr and not row.primitive and not row.decompose:
            row.decompose = as_calls(row.expr)
        if row.decompose and row.uses is None:
            called = re.findall(r"(?<![\w.:])(\w+)\(", row.decompose)
            row.uses = [name for name in dict.fromkeys(called) if name in names]
