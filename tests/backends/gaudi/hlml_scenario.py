"""The stand-in for libhlml: built, and told what to answer. fixtures/hlml has its source."""

import atexit
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from support.machines.samples import FIXTURES

SOURCES = FIXTURES / "hlml"
_FLAGS = ("-std=gnu11", "-shared", "-fPIC", "-O1", "-Wall", "-Werror")


@functools.cache
def build_hlml() -> Path:
    """Path of a built `libhlml.so`; skips without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler (cc, gcc) to build the stand-in for libhlml with")
    target = Path(tempfile.mkdtemp(prefix="accelwatch-hlml-")) / "libhlml.so"
    atexit.register(shutil.rmtree, target.parent, ignore_errors=True)
    command = [compiler, *_FLAGS, "-o", str(target), str(SOURCES / "standin.c")]
    subprocess.run(command, check=True)
    return target


class Scenario:
    """The stand-in's scenario file; the last line of a key counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((SOURCES / "gaudi3.scenario").read_text())

    def set(self, key: str, value: object) -> None:
        """Answer a key with a value from now on."""
        with self.path.open("a") as file:
            file.write(f"{key}={value}\n")

    def forget(self, prefix: str) -> None:
        """Have no answer to keys that begin so."""
        lines = self.path.read_text().splitlines(keepends=True)
        self.path.write_text("".join(line for line in lines if not line.startswith(prefix)))
