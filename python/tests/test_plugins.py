"""Plugins that pip installed: each test is a process of its own that sees a made-up installed package."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import backplane

BUILD = Path(backplane.__file__).parents[2]
PLUGINS = BUILD / "lib/test_plugins"
pytestmark = pytest.mark.skipif(not (PLUGINS / "c11.json").is_file(), reason="the tests' plugins are not built")


class Site:
    """A folder on sys.path with installed packages."""

    def __init__(self, folder):
        self.folder = folder

    def add(self, name, entry=None, module="", plugins=(), group="backplane.backends"):
        """A distribution whose module has these plugins in its folder."""
        package = self.folder / name
        package.mkdir()
        (package / "__init__.py").write_text(textwrap.dedent(module))
        self.put(package / "plugins", plugins)
        info = self.folder / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {entry or name}\n")
        return package

    def put(self, folder, plugins):
        folder.mkdir(parents=True, exist_ok=True)
        for plugin in plugins:
            shutil.copy(PLUGINS / f"{plugin}.json", folder)
            shutil.copy(PLUGINS / f"libbackplane_{plugin}.so", folder)

    def run(self, program, python=sys.executable, code=0, **variables):
        """What a program prints, and its warnings."""
        paths = [str(self.folder), str(BUILD / "python"), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **variables}
        command = [python, "-W", "always", "-c", textwrap.dedent(program)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout.strip(), done.stderr


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    return Site(folder)


PATHS = {
    "function": ("tidy:folder", "def folder():\n    return __path__[0] + '/plugins'"),
    "text": ("tidy:folder", "folder = __path__[0] + '/plugins'"),
    "path": ("tidy:folder", "import pathlib\nfolder = pathlib.Path(__path__[0], 'plugins')"),
    "manifest": ("tidy:folder", "folder = __path__[0] + '/plugins/c11.json'"),
    "library": ("tidy:folder", "folder = __path__[0] + '/plugins/libbackplane_c11.so'"),
}


@pytest.mark.parametrize("way", PATHS)
def test_an_entry_point_leads_to_a_plugin(site, way):
    entry, module = PATHS[way]
    site.add("tidy", entry, module, ["c11"])
    program = """
        import backplane
        x = backplane.ones(2, device="c11:0")
        print((x + x).tolist(), x.device)
    """
    assert site.run(program) == ("[2.0, 2.0] c11:0", "")


def test_an_entry_point_may_be_a_module(site):
    package = site.add("tidy", "tidy")
    site.put(package, ["c11"])
    out, warnings = site.run("import backplane\nprint([str(each) for each in backplane.devices()])")
    assert "'c11:0'" in out and not warnings


def test_the_import_looks_for_nothing(site):
    site.add("tidy", "tidy:folder", "print('loaded')\nfolder = __path__[0] + '/plugins'", ["c11"])
    program = """
        import sys
        before = set(sys.modules)
        import backplane
        x = backplane.ones(2, device="cpu:0").to("cpu")
        print("importlib.metadata" in set(sys.modules) - before, "backplane._plugins" in sys.modules, x.tolist())
    """
    assert site.run(program) == ("False False [1.0, 1.0]", "")


def test_only_the_plugin_that_is_asked_for_is_loaded(site):
    site.add("tidy", "tidy:folder", "folder = __path__[0] + '/plugins'", ["c11", "memonly"])
    program = """
        import backplane
        backplane.device("c11")
        mapped = open("/proc/self/maps").read()
        print("libbackplane_c11" in mapped, "libbackplane_memonly" in mapped)
        backplane.devices()
        print("libbackplane_memonly" in open("/proc/self/maps").read())
    """
    assert site.run(program)[0].split() == ["True", "False", "True"]


def test_a_device_by_name_and_index(site):
    site.add("tidy", "tidy:folder", "folder = __path__[0] + '/plugins'", ["c11"])
    assert site.run("import backplane\nprint(backplane.device('c11', 0))")[0] == "c11:0"


BROKEN = {
    "missing": ("broken:nothing", "", "AttributeError"),
    "raises": ("broken:folder", "def folder():\n    raise RuntimeError('no licence')", "no licence"),
    "no module": ("nowhere", "", "ModuleNotFoundError"),
    "bad import": ("broken", "1 / 0", "ZeroDivisionError"),
    "exits": ("broken:folder", "def folder():\n    raise SystemExit('stop')", "stop"),
    "no path": ("broken:folder", "folder = 3", "TypeError"),
    "not there": ("broken:folder", "folder = '/nowhere/at/all'", "/nowhere/at/all does not exist"),
    "no manifest": ("broken:folder", "folder = __path__[0] + '/plugins/bad.json'", "no manifest"),
    "no library": ("broken:folder", "folder = __path__[0] + '/plugins/lost.json'", "is left out"),
}


@pytest.mark.parametrize("way", BROKEN)
def test_a_broken_plugin_is_a_warning(site, way):
    entry, module, sentence = BROKEN[way]
    package = site.add("broken", entry, module)
    (package / "plugins/bad.json").write_text("{")
    (package / "plugins/lost.json").write_text('{"name": "lost", "library": "lost.so"}')
    site.add("tidy", "tidy:folder", "folder = __path__[0] + '/plugins'", ["c11"])
    program = """
        import backplane
        print(sorted(str(each) for each in backplane.devices() if each.type in ("cpu", "c11")))
        backplane.devices()
    """
    out, warnings = site.run(program)
    assert out == "['c11:0', 'cpu:0']"
    assert warnings.count("RuntimeWarning: backplane: ") == 1 and sentence in warnings
    assert site.run("import backplane\nprint(backplane.ones(1).tolist())") == ("[1.0]", "")


def test_one_that_crashes_takes_nobody_along(site):
    package = site.add("broken", "broken:folder", "folder = __path__[0] + '/plugins/libcrash_in_constructor.so'")
    shutil.copy(PLUGINS / "broken/libcrash_in_constructor.so", package / "plugins")
    out, warnings = site.run("import backplane\nprint(len(backplane.devices()) > 0)")
    assert out == "True" and "crash" in warnings


def test_one_whose_device_is_not_here_is_no_warning(site):
    package = site.add("tidy", "tidy:folder", "folder = __path__[0] + '/plugins/libno_driver.so'")
    shutil.copy(PLUGINS / "broken/libno_driver.so", package / "plugins")
    assert site.run("import backplane\nprint(len(backplane.devices()) > 0)") == ("True", "")


def test_an_unknown_device_is_still_unknown(site):
    site.add("tidy", "tidy:folder", "folder = __path__[0] + '/plugins'", ["c11"])
    program = """
        import backplane
        for _ in range(2):
            try:
                backplane.ones(1, device="nobody:0")
            except ValueError as error:
                print(str(error).startswith("there is no device 'nobody:0'"))
    """
    assert site.run(program) == ("True\nTrue", "")


def test_a_module_that_uses_the_package_while_it_is_asked(site):
    module = "import backplane\nbackplane.devices()\nfolder = __path__[0] + '/plugins'"
    site.add("tidy", "tidy:folder", module, ["c11"])
    assert site.run("import backplane\nprint(backplane.device('c11:0'))") == ("c11:0", "")


def test_a_makers_wheel_is_found_in_a_virtual_environment(site, tmp_path):
    """As backend_template/wheel.py makes it: the files are in share/backplane/plugins of the environment."""
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    site.put(environment / "share/backplane/plugins", ["c11"])
    program = "import backplane\nprint(backplane.device('c11:0'))"
    assert site.run(program, python=environment / "bin/python") == ("c11:0", "")


def test_the_command_sees_them_too(site):
    site.add("tidy", "tidy:folder", "folder = __path__[0] + '/plugins'", ["c11"])
    program = """
        import sys
        from backplane.__main__ import main as command
        sys.argv = ["backplane", "devices"]
        command()
    """
    assert "c11:0" in site.run(program)[0]


def test_a_plugin_without_a_device_says_why_each_time(monkeypatch):
    from backplane import _core, _plugins

    def load_backend(library):
        raise _core.UnsupportedError("nowhere: no card is here")

    monkeypatch.setattr(_core, "load_backend", load_backend)
    monkeypatch.setattr(_plugins, "_candidates", {"/lib.so": ("nowhere", "a package")})
    monkeypatch.setattr(_plugins, "_reasons", {})
    for _ in range(2):
        with pytest.raises(ValueError, match="no device 'nowhere:0'.*nowhere: no card is here"):
            backplane.device("nowhere:0")
