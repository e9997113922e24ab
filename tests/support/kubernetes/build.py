"""Builds the servers of a Kubernetes version from their Go modules, and prints their folder.

`go install` refuses both modules, because their go.mod files replace modules by folders beside them. So
each is required by a module of our own, which takes those as they are published. Needs Go and a module
proxy.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from accelwatch_lab.cluster.kubernetes.installed import (
    API_SERVER,
    CONTROLLER_MANAGER,
    ETCD,
    NEWEST,
    OLDEST,
    cache_folder,
    programs,
    requested_version,
)

ETCD_MODULE, ETCD_VERSION = "go.etcd.io/etcd/server/v3", "v3.7.3"
_ETCD_PROGRAM = f"""\
package main

import (
	"os"

	"{ETCD_MODULE}/etcdmain"
)

func main() {{ etcdmain.Main(os.Args) }}
"""
_KUBERNETES = "k8s.io/kubernetes"
_COMMANDS = (API_SERVER, CONTROLLER_MANAGER)
_TOOLS = "//go:build tools\n\npackage tools\n\nimport (\n{imports})\n"
_VERSION_PACKAGE = "k8s.io/component-base/version"


class NoServersError(Exception):
    """They cannot be built here; the message says why."""


def built(version: str) -> Path:
    """The folder of a version, built now unless it is there. Raises NoServersError."""
    folder = cache_folder(version)
    if programs(version) is None:
        if shutil.which("go") is None:
            raise NoServersError("Go is not installed")
        source = folder / "source"
        shutil.rmtree(source, ignore_errors=True)
        _build_etcd(source / "etcd", folder)
        _build_kubernetes(source / "kubernetes", folder, version)
        shutil.rmtree(source)
    return folder


def _build_etcd(source: Path, folder: Path) -> None:
    if not (folder / ETCD).exists():
        _write_module(source, ETCD_MODULE, ETCD_VERSION, {"main.go": _ETCD_PROGRAM})
        _build(source, ".", folder / ETCD, "-s -w")


def _build_kubernetes(source: Path, folder: Path, version: str) -> None:
    imports = "".join(f'\t_ "{_KUBERNETES}/cmd/{command}"\n' for command in _COMMANDS)
    _write_module(source, _KUBERNETES, f"v{version}", {"tools.go": _TOOLS.format(imports=imports)})
    major, minor, _ = version.split(".")
    stamps = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
    set_stamps = " ".join(f"-X {_VERSION_PACKAGE}.{key}={value}" for key, value in stamps.items())
    for command in _COMMANDS:
        if not (folder / command).exists():
            package = f"{_KUBERNETES}/cmd/{command}"
            _build(source, package, folder / command, f"-s -w {set_stamps}")


def _write_module(source: Path, module: str, version: str, files: dict[str, str]) -> None:
    """A module of ours that requires another, which replaces some of its own by folders."""
    source.mkdir(parents=True)
    (source / "go.mod").write_text("module servers\n")
    published = _json(source, "mod", "download", "-json", f"{module}@{version}")
    theirs = _json(source, "mod", "edit", "-json", published["GoMod"])
    (source / "go.mod").write_text(
        f"module servers\n\ngo {theirs['Go']}\n\nrequire {module} {version}\n"
        + "".join(f"replace {line}\n" for line in _replacements(theirs, version))
    )
    for name, text in files.items():
        (source / name).write_text(text)
    _go(source, "mod", "tidy")


def _replacements(theirs: dict[str, Any], version: str) -> list[str]:
    """Modules beside one of etcd have its version; those of Kubernetes 1.37.2 have 0.37.2."""
    beside = [row["Old"]["Path"] for row in theirs.get("Replace") or () if _is_folder(row)]
    return [f"{path} => {path} {_published(path, version)}" for path in beside]


def _is_folder(row: dict[str, Any]) -> bool:
    return str(row["New"]["Path"]).startswith(".")


def _published(path: str, version: str) -> str:
    return version.replace("v1.", "v0.", 1) if path.startswith("k8s.io/") else version


def _build(source: Path, package: str, program: Path, link_flags: str) -> None:
    """Nobody sees a program that is half written."""
    print(f"building {program.name} of {package} ...", file=sys.stderr, flush=True)
    new = program.with_suffix(".new")
    _go(source, "build", "-trimpath", f"-ldflags={link_flags}", "-o", str(new), package)
    new.replace(program)


def _json(source: Path, *words: str) -> Any:
    return json.loads(_go(source, *words))


def _go(source: Path, *words: str) -> str:
    """What a command of Go prints. Raises NoServersError."""
    # A workspace of the user's would take our module for none of its own.
    environ = {**os.environ, "GOWORK": "off"}
    done = subprocess.run(
        ("go", *words), cwd=source, env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NoServersError(f"go {' '.join(words[:2])} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def what_is_used() -> str:
    """One line for people: which API servers the tests run on now."""
    version = requested_version()
    if programs(version) is None:
        return f"the stand-in API server only; `make kubernetes` builds the servers of {version}"
    return f"the stand-in API server and the servers of {version}"


def main() -> int:
    """Print the folder of a version, or what the tests use."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", nargs="?", default="newest", help=f"{OLDEST}, say")
    parser.add_argument("--look", action="store_true", help="build nothing, say what tests use")
    options = parser.parse_args()
    if options.look:
        print(what_is_used())
        return 0
    try:
        print(built(NEWEST if options.version == "newest" else options.version))
    except NoServersError as error:
        print(f"kubernetes: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
