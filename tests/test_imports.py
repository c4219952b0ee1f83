"""The import law, read off the syntax trees, and what every public name owes its reader."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = {
    "inference": {"inference"},
    "rsa": {"inference", "rsa"},
    "games": {"inference", "games"},
    "tom": {"inference", "rsa", "games", "tom"},
}
FILES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
OUTSIDE_WORLD = {
    "openai",
    "os",
    "sys",
    "socket",
    "urllib",
    "http",
    "httpx",
    "httpx2",
    "subprocess",
    "pathlib",
    "io",
    "click",
}
BUILD_SCRIPT = ROOT / "games/decrypto/data/build_vocabulary.py"  # run by hand, imported by nobody


def relative(path):
    return str(path.relative_to(ROOT))


def imports(tree):
    """(module, inside a function) of every import."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inside = {id(child) for function in functions for child in ast.walk(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, id(node) in inside
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            for alias in node.names:
                yield f"{node.module}.{alias.name}", id(node) in inside


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_rooms_import_only_what_they_may(path):
    room = path.relative_to(ROOT).parts[0]
    for module, inside in imports(ast.parse(path.read_text())):
        parts = module.split(".")
        if parts[0] == "otherminds":
            assert parts[1] in ROOMS[room], f"{room} imports {module}"
        if parts[0] == "matplotlib":
            assert path.name == "plots.py" and inside, "matplotlib is imported inside functions of plots.py"
        if parts[0] == "openai":
            assert inside, "openai is imported where it is used"
        if room != "tom" and path != BUILD_SCRIPT:
            allowed = room == "inference" and module == "os"  # the number of cores
            assert parts[0] not in OUTSIDE_WORLD or allowed, f"{module}: the outside world appears under tom only"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_no_assert_and_no_environment_outside_tom(path):
    tree = ast.parse(path.read_text())
    room = path.relative_to(ROOT).parts[0]
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Assert), f"line {node.lineno}: users' input is checked with errors"
        if room != "tom" and path != BUILD_SCRIPT:
            name = getattr(node, "attr", getattr(node, "id", None))
            assert name not in {"environ", "getenv", "input"}, f"line {node.lineno}: {name}"
            called = isinstance(node, ast.Call) and getattr(node.func, "id", None) == "open"
            assert not called, f"line {node.lineno}: open()"


@pytest.mark.parametrize("path", [path for path in FILES if path.stat().st_size], ids=relative)
def test_every_public_name_has_a_docstring(path):
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), "the module says what it holds"
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"line {node.lineno}: {node.name} has no docstring"


def test_help_imports_nothing_heavy():
    heavy = ("jax", "jaxlib", "numpy", "openai", "matplotlib", "numpyro", "pydantic", "rich")
    code = (
        "import sys\nfrom otherminds.tom.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as stop:\n    assert stop.code == 0\n"
        f"print('loaded', [name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/", check=True)
    assert done.stdout.rstrip().endswith("loaded []")
