"""Finds what a derivative's expression computes element by element, so that it becomes one operator: a Joint."""

import ast
import re

from expression import BINARY, COMPARE, OPERATORS, UNARY
from rows import TableError

POINTWISE = set(OPERATORS.values())


def python_of(text):
    """The same text at the same places, for Python's parser."""
    return re.sub(r"\btrue\b", "True", re.sub(r"\bfalse\b", "False", text))


def cxx_of(text):
    return re.sub(r"\b(\w+)\.(shape|dtype)\b", r"\1.\2()", text)


class Rule:
    """`expression`: the rule with its pointwise parts of several steps replaced by calls of `tables`' joints.
    `statements` come before it: what joints take from other operators, and what both of these take."""

    def __init__(self, name, text):
        self.name, self.text = name, text
        self.tables, self.lines, self.parts = [], [], {}
        self.conjugates = False
        root = ast.parse(python_of(text), mode="eval").body
        self.shared = shared_parts(root)
        self.root_of_gradient = root if takes_gradient(root) else None  # one step, but it may write over the gradient
        self.lines.append(cxx_of(self.rewritten(root)))
        *self.statements, self.expression = map(self.with_spent, range(len(self.lines)))

    def rewritten(self, node):
        key = ast.unparse(node)
        if key in self.shared:
            if key not in self.parts:
                self.parts[key] = self.part(self.call(Chain(self, node)))
            return self.parts[key]
        if operator_of(node) and (any(map(has_step, operands_of(node))) or node is self.root_of_gradient):
            return self.call(Chain(self, node))
        start = node.col_offset
        text = self.text[start : node.end_col_offset]
        children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        for child in sorted(children, key=lambda child: -child.col_offset):
            text = text[: child.col_offset - start] + self.rewritten(child) + text[child.end_col_offset - start :]
        return text

    def part(self, text):
        """The name of a tensor that is made in advance."""
        if text not in self.parts:
            self.parts[text] = f"part{len(self.lines)}"
            self.lines.append(f"Tensor {self.parts[text]} = {cxx_of(text)};")
        return self.parts[text]

    def call(self, chain):
        self.conjugates |= chain.conjugates
        joint = f"{self.name}_joint{len(self.tables) or ''}"
        self.tables.append(chain.table(joint))
        return f"{joint}({', '.join(chain.inputs)})"

    def with_spent(self, index):
        """A line in which a joint may write into the memory of what nobody reads afterwards."""
        line = self.lines[index]
        joint = re.search(rf"\b{self.name}_joint\d*\(([^()]*)\)", line)
        if not joint:
            return line
        others = " ".join([line[: joint.start()], line[joint.end() :], *self.lines[index + 1 :]])
        inputs = [
            f"spent({name})" if re.match(r"grad|part\d", name) and not re.search(rf"\b{name}\b", others) else name
            for name in joint[1].split(", ")
        ]
        return line[: joint.start(1)] + ", ".join(inputs) + line[joint.end(1) :]


class Chain:
    """The steps of one pointwise part; equal ones are taken once."""

    def __init__(self, rule, root):
        self.rule, self.root, self.steps, self.inputs = rule, root, [], []
        self.conjugates = False
        self.visit(root)

    def visit(self, node):
        if is_conjugate(node):  # of a real number itself
            self.conjugates = True
            return self.visit(node.args[0])
        if number_of(node) is not None:
            return f"number({number_of(node)})"
        if not operator_of(node) or (node is not self.root and ast.unparse(node) in self.rule.shared):
            return self.input(node)
        inputs = [self.visit(operand) for operand in operands_of(node)]
        step = f"{{&ops::{operator_of(node)}, {{{', '.join(inputs)}}}, {len(inputs)}}}"
        if step not in self.steps:
            self.steps.append(step)
        return f"earlier({self.steps.index(step)})"

    def input(self, node):
        name = self.rule.rewritten(node)
        if not name.isidentifier():
            name = self.rule.part(name)
        if name not in self.inputs:
            self.inputs.append(name)
        return f"input({self.inputs.index(name)})"

    def table(self, joint):
        steps = "".join(f"    {step},\n" for step in self.steps)
        return f"constexpr JointStep {joint}_steps[] = {{\n{steps}}};\nconstinit Joint {joint}({joint}_steps);\n"


def shared_parts(root):
    """Pointwise parts that other operators take, and that are steps of the whole as well."""
    if not operator_of(root):
        return set()
    steps, taken = set(), set()

    def visit(node, within, found):
        if operator_of(node) and node is not root:
            found.add(ast.unparse(node))
        is_step = within and (operator_of(node) or is_conjugate(node))
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                visit(child, is_step, steps if is_step else taken)

    visit(root, True, steps)
    return steps & taken


def takes_gradient(root):
    return bool(operator_of(root)) and any(isinstance(part, ast.Name) and part.id == "grad" for part in operands_of(root))


def has_step(node):
    return operator_of(node) is not None or (is_conjugate(node) and has_step(node.args[0]))


def is_conjugate(node):
    return isinstance(node, ast.Call) and node.func.id == "conj"


def number_of(node):
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and number_of(node.operand) is not None:
        return f"-{number_of(node.operand)}"
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return repr(node.value)
    return None


def operator_of(node):
    """The row that the node is a call of, if that is pointwise."""
    if number_of(node) is not None:
        return None
    if isinstance(node, ast.BinOp):
        return OPERATORS[BINARY[type(node.op)]]
    if isinstance(node, ast.UnaryOp):
        return OPERATORS[UNARY[type(node.op)]]
    if isinstance(node, ast.Compare):
        if len(node.ops) != 1:
            raise TableError(f"{ast.unparse(node)!r}: compare two at a time")
        return OPERATORS[COMPARE[type(node.ops[0])]]
    return node.func.id if isinstance(node, ast.Call) and node.func.id in POINTWISE else None


def operands_of(node):
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    return [node.left, *node.comparators] if isinstance(node, ast.Compare) else node.args
