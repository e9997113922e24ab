"""The data of a release that was set up and has no agents yet: made once, copied for each start.

Setting up needs a dozen commands of the manager's, each of which loads all of it: 25 s of a processor.
"""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from accelwatch.base.errors import AccelwatchError
from accelwatch_lab.cluster.backendai.servers.configuration import template
from accelwatch_lab.cluster.backendai.servers.services import ETCD, POSTGRES, Services
from accelwatch_lab.cluster.backendai.tree.inside import FOLDER, run_inside
from accelwatch_lab.cluster.backendai.tree.installed import Tree, cache_folder

# What is copied, and what gives the copy its number when it changes.
_KEYS = "keys"
_COMPONENTS = (POSTGRES, ETCD, _KEYS)
_FORMAT = 1
_MANAGER = f"{FOLDER}/manager"
# Each where the release has it; 26.1 has other ones than 26.9.
_FIXTURES = (
    "container-registries-harbor",
    "users",
    "keypairs",
    "set-user-main-access-keys",
    "resource-slot-types",
    "roles",
    "role-presets",
)
_FAILURES = ("Traceback", " ERROR ")


def kept_data(tree: Tree) -> Path:
    """The folder of a release's data, which may not exist."""
    text = f"{_FORMAT} {template('seed.sql')}"
    return cache_folder() / f"data-{tree.version}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def copy_data(tree: Tree, folder: Path) -> bool:
    """Put what is kept into a folder that has none; False where nothing is kept."""
    kept = kept_data(tree)
    if not kept.is_dir():
        return False
    for component in _COMPONENTS:
        _copy(kept / component, folder / component)
    return True


def keep_data(tree: Tree, folder: Path) -> None:
    """Keep the data of a folder for later starts; nothing may run over it. Raises AccelwatchError."""
    kept = kept_data(tree)
    new = kept.with_name(f"{kept.name}.{os.getpid()}")
    try:
        new.mkdir(mode=0o700)
        for component in _COMPONENTS:
            _copy(folder / component, new / component)
        # Another process may have kept the same meanwhile.
        if not kept.exists():
            new.rename(kept)
    except OSError as error:
        raise AccelwatchError(f"{new} cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


def set_up(tree: Tree, folder: Path, services: Services) -> None:
    """Keys, tables, users, an image; services run. Raises AccelwatchError."""
    for who in ("manager", "agent"):
        _run(tree, folder, "generate-rpc-keypair", f"{FOLDER}/{_KEYS}", who)
    services.create_database()
    _run(tree, folder, "schema", "oneshot")
    _run(tree, folder, "etcd", "put-json", "volumes", "volumes.json")
    fixtures = "/" / (tree.packages() / "ai/backend/install/fixtures").relative_to(tree.root)
    for name in _FIXTURES:
        file = fixtures / f"example-{name}.json"
        if (tree.root / str(file)[1:]).exists():
            _run(tree, folder, "fixture", "populate", str(file))
    services.execute(template("seed.sql"))


def _run(tree: Tree, folder: Path, *arguments: str) -> None:
    """Raises AccelwatchError; the commands end with 0 though they have failed."""
    output = run_inside(tree, folder, ("backend.ai", "mgr", *arguments), _MANAGER)
    if any(failure in output for failure in _FAILURES):
        raise AccelwatchError(
            f"backend.ai mgr {' '.join(arguments)} failed: {output.strip()[-500:]}"
        )


def _copy(source: Path, target: Path) -> None:
    """A folder with owners and rights, which the database insists on. Raises AccelwatchError."""
    argv = ("cp", "--archive", "--reflink=auto", "--no-target-directory", str(source), str(target))
    completed = subprocess.run(argv, capture_output=True, text=True, check=False)
    if completed.returncode:
        raise AccelwatchError(f"{source} cannot be copied: {completed.stderr.strip()}")
