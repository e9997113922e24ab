"""Debian packages, by dpkg-deb (deb-control(5), deb-conffiles(5), Debian policy 6 for the scripts)."""

import subprocess
from pathlib import Path

from package_contents import (
    AFTER_REMOVAL,
    MAINTAINER,
    Package,
    after_install,
    before_removal,
    indented,
)

_ON_CONFIGURE = 'if [ "$1" = configure ]; then\n{body}fi\n'
_ON_REMOVE = 'if [ "$1" = remove ]; then\n{body}fi\n'


def build_deb(package: Package, root: Path, out: Path, version: str, python: str) -> Path:
    """Add the control files to a laid out tree and pack it. Raises CalledProcessError."""
    control = root / "DEBIAN"
    control.mkdir(mode=0o755)
    architecture = "all" if package.service else _architecture()
    (control / "control").write_text(
        control_text(package, version, python, architecture), encoding="utf-8"
    )
    if package.config_files:
        files = "".join(f"{name}\n" for name in package.config_files)
        (control / "conffiles").write_text(files, encoding="utf-8")
    if package.service is not None:
        _script(control / "postinst", _ON_CONFIGURE, after_install(package.service))
        _script(control / "prerm", _ON_REMOVE, before_removal(package.service))
        _script(control / "postrm", _ON_REMOVE, AFTER_REMOVAL)
    target = out / f"{package.name}_{version}_{architecture}.deb"
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "-Zzstd", "--build", root, target],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return target


def control_text(package: Package, version: str, python: str, architecture: str) -> str:
    """The control file; the program needs the interpreter whose modules were compiled for it."""
    needs = [f"{name} (= {version})" for name in package.needs] or [f"python{python}"]
    return (
        f"Package: {package.name}\n"
        f"Version: {version}\n"
        f"Architecture: {architecture}\n"
        f"Maintainer: {MAINTAINER}\n"
        f"Depends: {', '.join(needs)}\n"
        "Section: admin\n"
        "Priority: optional\n"
        f"Description: {package.summary}\n"
    )


def _script(path: Path, when: str, body: str) -> None:
    text = f"#!/bin/sh\nset -e\n{when.format(body=indented(body))}"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def _architecture() -> str:
    done = subprocess.run(
        ["dpkg", "--print-architecture"], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()
