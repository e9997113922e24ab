"""RPM packages, by rpmbuild (rpm-spec(5)); a scriptlet's argument is 0 on removal and 1 on upgrade."""

import platform
import shutil
import subprocess
from pathlib import Path

from package_contents import (
    AFTER_REMOVAL,
    LICENSE,
    Package,
    after_install,
    before_removal,
    indented,
)


def build_rpm(package: Package, root: Path, out: Path, version: str, python: str) -> Path:
    """Pack a laid out tree. Raises CalledProcessError."""
    architecture = "noarch" if package.service else platform.machine()
    top = out / f".rpmbuild-{package.name}"
    top.mkdir()
    spec = top / f"{package.name}.spec"
    spec.write_text(spec_text(package, root, version, python), encoding="utf-8")
    subprocess.run(
        [
            "rpmbuild", "-bb", "--quiet", "--target", architecture,
            "--define", f"_topdir {top}", "--buildroot", top / "root", spec,
        ],
        check=True,
    )  # fmt: skip
    (built,) = top.glob("RPMS/*/*.rpm")
    target = Path(shutil.move(built, out / built.name))
    shutil.rmtree(top)
    return target


def spec_text(package: Package, root: Path, version: str, python: str) -> str:
    """The spec file; files are copied as they are, nothing is stripped or searched for needs."""
    needs = [f"{name} = {version}-1" for name in package.needs] or [f"/usr/bin/python{python}"]
    lines = [
        f"Name: {package.name}",
        f"Version: {version}",
        "Release: 1",
        f"Summary: {package.summary}",
        f"License: {LICENSE}",
        "AutoReqProv: no",
        *(f"Requires: {need}" for need in needs),
        "%global debug_package %{nil}",
        "%global __os_install_post %{nil}",
        # Quick to pack and to unpack; every RPM since 4.14 reads it.
        "%global _binary_payload w3.zstdio",
        "%description",
        package.summary,
        "%install",
        f"cp -a {root}/. %{{buildroot}}/",
    ]
    if package.service is not None:
        lines += ["%post", after_install(package.service)]
        lines += ["%preun", _on_removal(before_removal(package.service))]
        lines += ["%postun", _on_removal(AFTER_REMOVAL)]
    lines += ["%files", "%defattr(-,root,root,-)", *_files(package, root)]
    return "\n".join(lines) + "\n"


def _files(package: Package, root: Path) -> list[str]:
    """Each file and link; folders only where they are ours alone."""
    own = [f"%dir /{path.relative_to(root)}" for path in root.glob("usr/lib/accelwatch")]
    kept = set(package.config_files)
    for path in sorted(root.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        name = f"/{path.relative_to(root)}"
        # Quotes, for names with spaces; a percent sign begins a macro.
        quoted = '"' + name.replace("%", "%%") + '"'
        own.append(f"%config(noreplace) {quoted}" if name in kept else quoted)
    return own


def _on_removal(body: str) -> str:
    return f'if [ "$1" = 0 ]; then\n{indented(body)}fi'
