"""The stand-in Level Zero loader: built, and told what to answer.

fixtures/level_zero holds its source and its scenarios.
"""

import atexit
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from support.machines.samples import FIXTURES

SOURCES = FIXTURES / "level_zero"
_FLAGS = ("-std=gnu11", "-shared", "-fPIC", "-O1", "-Wall", "-Werror")


@functools.cache
def build_level_zero(*flags: str) -> Path:
    """Path of a built `libze_loader.so.1`, built once by flags; skips without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler (cc, gcc) to build the stand-in Level Zero loader with")
    target = Path(tempfile.mkdtemp(prefix="accelwatch-level-zero-")) / "libze_loader.so.1"
    atexit.register(shutil.rmtree, target.parent, ignore_errors=True)
    sources = [str(path) for path in sorted(SOURCES.glob("*.c"))]
    subprocess.run([compiler, *_FLAGS, *flags, "-o", str(target), *sources], check=True)
    return target


class Scenario:
    """The stand-in's scenario file, changed line by line."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self, name: str) -> None:
        self.path.write_text((SOURCES / f"{name}.scenario").read_text())

    def set(self, **values: object) -> None:
        """Add keys (`dev__0__reset=1`); the last line of a key counts."""
        with self.path.open("a") as file:
            file.writelines(f"{key.replace('__', '.')}={value}\n" for key, value in values.items())

    def order(self, call: str, rule: str) -> None:
        """Make a call answer with a code."""
        with self.path.open("a") as file:
            file.write(f"call.{call}={rule}\n")
