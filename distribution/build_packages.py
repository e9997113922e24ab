"""Builds deb and rpm of program, agent and hub: `python distribution/build_packages.py --out dist`.

The dependencies come from `requirements/run.lock`. Compiled ones are for the interpreter that builds, so
build with the system's own (`/usr/bin/python3`) on the distribution for which the packages are.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from deb_package import build_deb
from package_contents import Package, packages
from package_tree import (
    REPOSITORY,
    interpreter_version,
    lay_out_program,
    lay_out_service,
    own_python,
)
from rpm_package import build_rpm

Build = Callable[[Package, Path, Path, str, str], Path]
# Each with the tool that packs it.
FORMATS: dict[str, tuple[str, Build]] = {
    "deb": ("dpkg-deb", build_deb),
    "rpm": ("rpmbuild", build_rpm),
}


def main() -> int:
    """Build what is asked for, and print the files. Exit code 1: something is missing or has failed."""
    parser = argparse.ArgumentParser(description="Builds deb and rpm packages of accelwatch.")
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder for the packages")
    parser.add_argument(
        "--format", choices=sorted(FORMATS), action="append", help="all if not given"
    )
    wanted = parser.parse_args()
    formats = wanted.format or sorted(FORMATS)
    for tool in [FORMATS[name][0] for name in formats]:
        if shutil.which(tool) is None:
            print(f"build: {tool} is not installed", file=sys.stderr)
            return 1
    # The files of a package have the permissions that they get here, whoever builds.
    os.umask(0o022)
    out = wanted.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="accelwatch-packages.") as scratch:
            for built in build_all(Path(scratch), out, formats, own_python()):
                print(built)
    except subprocess.CalledProcessError as error:
        print(f"build: {error.cmd[0]} failed with exit code {error.returncode}", file=sys.stderr)
        return 1
    return 0


def build_all(scratch: Path, out: Path, formats: list[str], python: Path) -> list[Path]:
    """All packages in all formats; each format has trees of its own, since packing adds to them."""
    wheel, program = build_wheel(scratch, python), scratch / "program"
    lay_out_program(program, wheel, REPOSITORY / "requirements/run.lock", python)
    version = wheel.name.split("-")[1]
    built = []
    for name in formats:
        for package in packages():
            root = scratch / name / package.name
            if package.service is None:
                shutil.copytree(program, root, symlinks=True)
            else:
                lay_out_service(root, package.service)
            pack = FORMATS[name][1]
            built.append(pack(package, root, out, version, interpreter_version(python)))
    return built


def build_wheel(scratch: Path, python: Path) -> Path:
    """The wheel of this checkout. Raises CalledProcessError."""
    folder = scratch / "wheel"
    words = ["-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([python, *words, "--wheel-dir", folder, REPOSITORY], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


if __name__ == "__main__":
    sys.exit(main())
