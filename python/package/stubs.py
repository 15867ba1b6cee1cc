"""Gives each module of the package that is written in Python, and has no stub yet, one: stubs.py FOLDER.

What is not annotated is Any. So type checkers take a program that uses these modules, see names, arguments and documentation,
and do not ask to annotate what is not theirs. Run while the package is installed; stubs by hand have precedence."""

import ast
import sys
from pathlib import Path

HEAD = "import builtins as _builtins\nfrom typing import Any as _Any, Callable as _Callable, Self as _Self\n\n"
KNOWN = {"__init__": "None", "__len__": "_builtins.int", "__bool__": "_builtins.bool", "__hash__": "_builtins.int",
         "__repr__": "_builtins.str", "__str__": "_builtins.str", "__enter__": "_Self", "__setattr__": "None",
         "__delattr__": "None", "__setitem__": "None", "__delitem__": "None", "__exit__": "None"}  # fmt: skip
DECORATORS = {"staticmethod", "classmethod", "property", "overload"}


def main():
    package = Path(sys.argv[1])
    for module in sorted(package.rglob("*.py")):
        if not module.with_suffix(".pyi").exists() and module.name not in ("__main__.py", "_plugins.py"):
            module.with_suffix(".pyi").write_text(stub_of(module.read_text(), module.name == "__init__.py"))


def stub_of(source, is_package):
    tree = ast.parse(source)
    documentation = ast.get_docstring(tree)
    text = f"{documented(documentation, '')}\n" if documentation else ""
    listed, body = exported(tree), list(statements(tree.body))
    text += HEAD + "".join(emit(node, "", is_package, listed) for node in body)
    if listed:
        text += f"\n__all__ = {listed!r}\n"
    # Names that are made in a loop, or at the first look.
    if any(isinstance(node, (ast.For, ast.While)) or getattr(node, "name", "") == "__getattr__" for node in body):
        text += "\ndef __getattr__(name: _builtins.str) -> _Any: ...\n"
    return text


def exported(tree):
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            try:
                return list(ast.literal_eval(node.value))
            except ValueError:
                return None
    return None


def statements(body):
    """All of a module or class, those within if and try among them."""
    for node in body:
        if isinstance(node, (ast.If, ast.Try)):
            yield from statements(node.body)
            yield from statements(node.orelse)
        else:
            yield node


def emit(node, indent, is_package, listed):
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return imported(node, indent, is_package, listed)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name != "__getattr__":
        if indent and is_left_to_subclasses(node):
            return f"{indent}{node.name}: _Callable[..., _Any]\n"
        return function(node, indent)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and indent:
        return f"{indent}def __getattr__(self, name: _builtins.str) -> _Any: ...\n"
    if isinstance(node, ast.ClassDef):
        return class_(node, indent)
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return f"{indent}{node.target.id}: {ast.unparse(node.annotation)}\n"
    if isinstance(node, ast.Assign):
        return assigned(node, indent)
    return ""


def imported(node, indent, is_package, listed):
    """A package's imports from its own modules are what it shows."""
    for name in node.names:
        shown = (is_package and isinstance(node, ast.ImportFrom) and node.level) or (listed and name.name in listed)
        if shown and name.asname is None and name.name != "*" and not name.name.startswith("_"):
            name.asname = name.name
    return f"{indent}{ast.unparse(node)}\n"


def assigned(node, indent):
    names = [each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)]
    if not indent and len(names) == 1 and isinstance(node.value, ast.Name):
        return f"{names[0]} = {node.value.id}\n"  # another name of a function or a class
    return "".join(
        f"{indent}{name}: _Any\n" for name in names if name not in ("__all__", "__slots__", "__match_args__")
    )


def is_left_to_subclasses(method):
    """Does it only raise NotImplementedError? Subclasses choose its arguments."""
    *rest, last = method.body
    is_alone = all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in rest)
    return is_alone and isinstance(last, ast.Raise) and "NotImplementedError" in ast.unparse(last) and not method.decorator_list


def documented(text, indent):
    text = text.replace("\\", "\\\\").replace('"""', '\\"""')
    lines = text.split("\n")
    closing = "\n" + indent if len(lines) > 1 or text.endswith('"') else ""
    return "\n".join((indent + line if line else "") for line in ('"""' + text).split("\n")) + f'{closing}"""'


def function(node, indent):
    arguments = node.args
    everything = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    everything += [each for each in (arguments.vararg, arguments.kwarg) if each]
    is_method = bool(indent) and not any(ast.unparse(each) == "staticmethod" for each in node.decorator_list)
    own = (arguments.posonlyargs + arguments.args)[:1] if is_method else []
    for each in everything:
        if each not in own:
            each.annotation = each.annotation or ast.Name("_Any")
    ellipsis = ast.Constant(...)
    arguments.defaults = [ellipsis for _ in arguments.defaults]
    arguments.kw_defaults = [value and ellipsis for value in arguments.kw_defaults]
    result = ast.unparse(node.returns) if node.returns else KNOWN.get(node.name, "_Any")
    text = "".join(
        f"{indent}@{ast.unparse(each)}\n"
        for each in node.decorator_list
        if ast.unparse(each) in DECORATORS or ast.unparse(each).endswith((".setter", ".deleter"))
    )
    text += f"{indent}def {node.name}({ast.unparse(arguments)}) -> {result}:"
    documentation = ast.get_docstring(node)
    return text + (f"\n{documented(documentation, indent + '    ')}\n" if documentation else " ...\n")


def class_(node, indent):
    inner = indent + "    "
    bases = [ast.unparse(base) for base in node.bases if isinstance(base, (ast.Name, ast.Attribute))]
    text = f"\n{indent}class {node.name}{'(' + ', '.join(bases) + ')' if bases else ''}:\n"
    documentation = ast.get_docstring(node)
    if documentation:
        text += documented(documentation, inner) + "\n"
    body = list(statements(node.body))
    named = {each.name for each in body if isinstance(each, (ast.FunctionDef, ast.ClassDef))}
    named |= {
        name.id
        for each in body
        if isinstance(each, ast.Assign)
        for name in ast.walk(each)
        if isinstance(name, ast.Name)
    }
    named |= {each.target.id for each in body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)}
    for name in dict.fromkeys(attributes_of(body)):
        if name not in named:
            text += f"{inner}{name}: _Any\n"
    inside = "".join(emit(each, inner, False, None) for each in body)
    return text + (inside or ("" if documentation else f"{inner}...\n"))


def attributes_of(body):
    """What methods set on self."""
    for method in body:
        for node in ast.walk(method) if isinstance(method, ast.FunctionDef) else ():
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                if isinstance(node.value, ast.Name) and node.value.id == "self":
                    yield node.attr


if __name__ == "__main__":
    main()
