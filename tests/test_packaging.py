"""What is installed: every package, under otherminds only, with its data, beside PyPI's own `rsa`."""

import importlib.metadata
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ROOMS = ("inference", "rsa", "games", "tom")
DATA = {
    "otherminds/games/decrypto/data/nouns.npy",
    "otherminds/games/decrypto/data/nouns.txt",
    "otherminds/games/decrypto/data/keywords.txt",
    "otherminds/tom/experiments/report.html",
    "otherminds/tom/experiments/journal.schema.json",
}


def test_packages_are_the_folders_on_disk():
    on_disk = {
        "otherminds." + ".".join(init.parent.relative_to(ROOT).parts)
        for room in ROOMS
        for init in (ROOT / room).rglob("__init__.py")
    }
    assert set(PYPROJECT["tool"]["setuptools"]["packages"]) == on_disk
    with_code = {path.parent for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    assert all((folder / "__init__.py").exists() for folder in with_code)
    assert not (ROOT / "otherminds").exists()


def test_version_comes_from_the_metadata():
    assert importlib.metadata.version("otherminds") == PYPROJECT["project"]["version"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built from a copy so that no build folder is left here."""
    folder = tmp_path_factory.mktemp("wheel")
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("uv is not installed here, so no wheel can be built")
    copy = folder / "copy"
    skipped = shutil.ignore_patterns(".git", ".venv", "runs", "__pycache__", ".*_cache", "*.egg-info", "build", "dist")
    shutil.copytree(ROOT, copy, ignore=skipped)
    built = subprocess.run(
        [uv, "build", "--wheel", "--out-dir", str(folder)], cwd=copy, capture_output=True, text=True, check=False
    )
    if built.returncode and "fetch" in built.stderr.lower():
        pytest.skip("the build backend cannot be fetched here: no registry answers")
    assert built.returncode == 0, built.stderr
    return next(folder.glob("*.whl"))


def test_wheel_holds_data_and_no_bare_package(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert names >= DATA
    assert {name.split("/")[0] for name in names} == {"otherminds", wheel.name.split("-py3")[0] + ".dist-info"}
    assert {"LICENSE", "NOTICE"} <= {name.split("/")[-1] for name in names}


def test_wheel_lives_beside_the_rsa_of_others(wheel, tmp_path):
    """PyPI's rsa, which google-auth needs, is still there after an installation."""
    installed = subprocess.run(
        [
            "uv",
            "pip",
            "install",
            "--quiet",
            "--python",
            sys.executable,
            "--target",
            str(tmp_path),
            "--no-deps",
            "rsa",
            str(wheel),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if installed.returncode and "fetch" in installed.stderr.lower():
        pytest.skip("PyPI's rsa cannot be fetched here: no registry answers")
    assert installed.returncode == 0, installed.stderr
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import rsa, importlib.util\n"
        "assert rsa.__file__.startswith(sys.argv[1]) and hasattr(rsa, 'encrypt')\n"
        "sys.meta_path[:] = [f for f in sys.meta_path if 'editable' not in str(f).lower()]\n"
        "sys.modules.pop('otherminds', None)\n"
        "import otherminds.rsa.agents, otherminds.tom.cli\n"
        "assert otherminds.rsa.agents.__file__.startswith(sys.argv[1]), otherminds.rsa.agents.__file__\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd="/", check=True)
