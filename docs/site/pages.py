"""The site's source folder: the pages of docs/ as they are (copies: MyST follows a link and looks beside its end), the pages
that group them, and the references of the package and of the headers."""

import importlib
import inspect
import shutil
import sys
import textwrap

import cpp_reference

GROUPS = {
    "Start": ["install", "examples", "devices", "environment", "performance", "accuracy", "tuning", "memory", "differences",
              "interop"],
    "From Python": ["python", "reference_python", "coverage/python", "torch", "onnxruntime"],
    "From C": ["c"],
    "From C++": ["nn", "optim", "data", "serialize", "amp", "group_cpp"],
    "Write a backend": ["write_a_backend", "abi", "level_zero"],
    "Operators": ["operators", "coverage", "add_an_operator", "opinfo", "coverage/pytorch", "coverage/onnx", "coverage/onnx_node_tests",
                  "group_operators"],
    "The suite": ["conformance", "conformance_exam", "testing", "certificates/README"],
    "Inside": ["architecture", "group_decisions", "group_notes"],
}
FOLDERS = {"operators": "Operators, by table", "decisions": "Decisions", "notes": "Notes"}


def write(source, docs, package, scratch):
    """Fills `source`, which is emptied first. Sphinx refuses a page that no group names."""
    for old in source.iterdir():
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    for page in [*docs.rglob("*.md"), *docs.rglob("*.svg")]:
        place = source / page.relative_to(docs)
        place.parent.mkdir(exist_ok=True)
        shutil.copyfile(page, place)
    for folder, title in FOLDERS.items():
        names = sorted(f"{folder}/{page.stem}" for page in (docs / folder).glob("*.md"))
        (source / f"group_{folder}.md").write_text(f"# {title}\n\n{tree(names)}")
    reference = python_reference(package)
    (source / "reference_python.rst").write_text(reference)
    headers = cpp_reference.write(source / "cpp", docs.parent, scratch)
    (source / "group_cpp.md").write_text(f"# {cpp_reference.TITLE}\n\n{tree([f'cpp/{name}' for name in headers])}")
    (source / "index.md").write_text("# Backplane\n\nA tensor runtime whose backends are plugins.\n\n"
                                     + "\n".join(tree(names, title) for title, names in GROUPS.items()))  # fmt: skip


def tree(names, caption=None):
    options = f":caption: {caption}\n" if caption else ""
    return f"```{{toctree}}\n{options}:maxdepth: 1\n\n" + "\n".join(names) + "\n```\n"


# The modules of the package whose functions and classes people call; the first has the operators.
PARTS = "nn nn.init optim data amp autograd linalg fft special serialize"
MODULES = ["backplane", *(f"backplane.{name}" for name in PARTS.split())]
ROWS_OF_LISTS = ("_foreach_", "_fused_")


def python_reference(package):
    """Each public function and class with its docstring, where the package is built."""
    title = "Reference of the package\n========================\n\n"
    if not (package / "backplane").is_dir():
        return title + "The package was not built when this page was made; ``./dev test`` builds it.\n"
    sys.path.insert(0, str(package))
    return title + "\n".join(part for name in MODULES for part in reference_of(importlib.import_module(name)))


def reference_of(module):
    yield f"{module.__name__}\n{'-' * len(module.__name__)}\n\n.. py:module:: {module.__name__}\n"
    for name, thing in sorted(vars(module).items()):
        hidden = name.startswith("_") and not name.startswith(ROWS_OF_LISTS)
        if hidden or not callable(thing) or not is_at_home(thing, module):
            continue
        yield from entry("class" if inspect.isclass(thing) else "function", name, thing)
        if inspect.isclass(thing):
            for method, of_class in sorted(vars(thing).items()):
                if not method.startswith("_") and callable(of_class):
                    yield from entry("method", f"{name}.{method}", of_class)


def is_at_home(thing, module):
    """Not one of another module of the package, which shows it, or of the standard library."""
    home = getattr(thing, "__module__", None)
    home = home if isinstance(home, str) else "backplane"
    if module.__name__ == "backplane":
        return home.startswith("backplane") and not home.startswith(tuple(MODULES[1:]))
    is_row = type(thing).__name__ == "Operator"  # fft.rfft is the row fft_rfft
    return home.startswith(module.__name__) or is_row


def entry(kind, name, thing):
    text = inspect.getdoc(thing)
    if text:
        body = textwrap.indent(text, " " * 6, lambda line: bool(line.strip()))
        yield f".. py:{kind}:: {name}\n\n   .. code-block:: text\n\n{body}\n"
