"""The package as a whole: what type checkers know of it is what it has, and its command runs."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import backplane

HERE = Path(__file__).parent
SOURCES = HERE.parent  # where the stubs lie beside the modules
STUBS = SOURCES / "backplane"
# What the package's own modules use of the part in C++.
INTERNAL = set(
    """apply_function array_api bytes_of forms exclude_layers is_inference operators restore_layers tensor_of_bytes
    tensor_of_capsule""".split()
)


def run(*command, **environment):
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=120)


def defined_in(body):
    names = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets}
        elif isinstance(node, ast.ImportFrom) and not any(each.name == "*" for each in node.names):
            names |= {each.asname for each in node.names if each.asname}
    return names


def stub(name):
    return ast.parse((STUBS / f"{name}.pyi").read_text()).body


def class_in(body, name):
    return next(node.body for node in body if isinstance(node, ast.ClassDef) and node.name == name)


# --- Stubs -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The package as it is installed, but for the part in C++: modules without a stub have got one."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(STUBS, site / "backplane", ignore=shutil.ignore_patterns("__pycache__"))
    done = run(sys.executable, str(SOURCES / "package/stubs.py"), str(site / "backplane"))
    assert done.returncode == 0, done.stderr
    return site


def mypy(site, *files):
    """{line of a file: what is wrong there}; of the package, only stubs by hand and those of operators count."""
    pytest.importorskip("mypy", reason="mypy is not installed: dependencies/pip-wheel.txt")
    stubs = [site / "backplane" / stub.name for stub in STUBS.glob("*.pyi")]
    command = [sys.executable, "-m", "mypy", "--strict", "--no-pretty", "--cache-dir", str(site / "cache")]
    done = run(*command, *map(str, [*files, *stubs]), MYPYPATH=str(site))
    assert done.returncode in (0, 1) and not done.stderr, done.stdout + done.stderr
    found = re.findall(r"^(.+?):(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    return [(int(line), text) for file, line, text in found if Path(file) in {*files, *stubs}]


def test_mypy_passes_over_a_typed_program(installed):
    assert mypy(installed, HERE / "typed_program.py") == []


def test_pyright_passes_over_a_typed_program(installed, tmp_path):
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent))
    if not pyright:
        pytest.skip("pyright is not installed: dependencies/pip-wheel.txt")
    settings = {"include": ["typed_program.py"], "extraPaths": [str(installed)], "typeCheckingMode": "standard"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    shutil.copy(HERE / "typed_program.py", tmp_path)
    done = run(pyright, "-p", str(tmp_path))
    if "typed_program.py" not in done.stdout and "0 errors" not in done.stdout:
        pytest.skip("pyright did not start: " + (done.stderr or done.stdout)[-300:])
    assert done.returncode == 0, done.stdout


def test_mypy_refuses_what_is_wrong(installed, tmp_path):
    wrong = {
        "backplane.add(backplane.ones(2), 'a')": "arg-type",
        "backplane.softmax(backplane.ones(2))": "call-arg",
        "backplane.ones(2).soft_max(0)": "attr-defined",
        "backplane.ones(2, dtype=3)": "call-overload",
        "backplane.ones(2) + 'a'": "operator",
        "x: int = backplane.ones(2).shape": "assignment",
        "backplane.nn.Linear()": "call-arg",
    }
    program = tmp_path / "wrong.py"
    program.write_text("import backplane\n" + "".join(f"{line}\n" for line in wrong))
    found = mypy(installed, program)
    assert [(line, text.rpartition("[")[2][:-1]) for line, text in found] == list(enumerate(wrong.values(), 2)), found


def test_the_typed_program_runs():
    done = run(sys.executable, str(HERE / "typed_program.py"))
    assert done.returncode == 0, done.stderr


def test_stubs_know_every_name():
    known = set().union(
        *(
            defined_in(stub(name))
            for name in "__init__ _core _operators _forms _arranging _changing _computing _creation _facts _further".split()
        )
    )
    present = {name for name in dir(backplane) if not name.startswith("_")} | set(backplane.operators)
    assert sorted(present - known - INTERNAL) == [], "write these into python/backplane/*.pyi, or run ./dev gen"
    absent = {name for name in known if not name.startswith("_") and not hasattr(backplane, name)}
    absent -= {"TensorOperators", "Extremum"}
    assert sorted(absent) == [], "in the stubs alone"


def test_stubs_know_every_attribute_of_a_tensor():
    known = defined_in(class_in(stub("_core"), "Tensor")) | defined_in(class_in(stub("_operators"), "TensorOperators"))
    present = {name for name in dir(backplane.Tensor) if name not in dir(object) and not re.match("_[a-z]", name)}
    unsaid = {"__array_ufunc__", "__deepcopy__", "__delitem__", "__dict__", "__module__", "__weakref__", "__rmatmul__"}
    assert sorted(present - known - unsaid) == [], "write these into class Tensor of python/backplane/_core.pyi"
    assert sorted({name for name in known if not name.startswith("_")} - present) == [], "in the stubs alone"


def test_the_stub_of_an_operator_has_its_schemas_arguments():
    functions = {node.name: node.args for node in stub("_operators") if isinstance(node, ast.FunctionDef)}
    for name, operator in backplane.operators.items():
        if name not in functions:
            continue
        args = functions[name]
        stubbed = (
            [arg.arg for arg in args.args]
            + ([args.vararg.arg] if args.vararg else [])
            + [arg.arg for arg in args.kwonlyargs]
        )
        inside = re.search(r"\((.*)\) ->", operator.schema)[1]
        wanted = re.findall(r"(\w+)(?==|,|$)(?:=[^,]*)?(?:, |$)", inside)
        extra = set(stubbed) - set(wanted)
        assert extra <= {"out", "requires_grad"}, name
        assert [arg for arg in stubbed if arg not in extra] == wanted, name
        for keyword in extra:  # the stub says that there is one, and so there is
            with pytest.raises(Exception) as error:
                operator(**{keyword: None})
            assert "has no argument" not in str(error.value), (name, keyword)
        if "out" not in extra:
            with pytest.raises(TypeError, match="has no argument 'out'|is missing the argument"):
                operator(out=backplane.ones(1))
