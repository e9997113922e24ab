"""The files of each system package, laid out below a folder as they lie on a machine."""

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parents[1]
# An environment of its own, so that no other program's libraries are touched.
HOME = "usr/lib/accelwatch"
UNITS = "usr/lib/systemd/system"
CONFIG = "etc/accelwatch"

_COMMAND = """\
#!/{home}/bin/python -I
import sys

from accelwatch.__main__ import main

sys.exit(main())
"""


class Service(NamedTuple):
    """A service with a package of its own: its unit and its configuration, as the examples have them."""

    name: str
    unit: Path
    config: Path
    summary: str


SERVICES = (
    Service(
        "agent",
        REPOSITORY / "examples/systemd/accelwatch-agent.service",
        REPOSITORY / "examples/systemd/agent.yaml",
        "accelwatch on a node: exporter and stream of its accelerators",
    ),
    Service(
        "hub",
        REPOSITORY / "examples/hub/accelwatch-hub.service",
        REPOSITORY / "examples/hub/hub.yaml",
        "accelwatch for a fleet: the state of many nodes, rules and remedies",
    ),
)


def lay_out_program(root: Path, wheel: Path, lock: Path, python: Path) -> None:
    """The program with its locked dependencies, for this interpreter. Raises CalledProcessError."""
    site = lay_out_environment(root, python)
    pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--no-compile"]
    pip.append("--disable-pip-version-check")
    subprocess.run([*pip, "--target", site, "--require-hashes", "--requirement", lock], check=True)
    subprocess.run([*pip, "--target", site, "--no-deps", wheel], check=True)
    # Without it the first run as root would write files that no package owns. Nothing checks that they
    # fit their sources, as only a package changes either.
    compile_all = ["-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    subprocess.run([python, *compile_all, "-s", root, "-p", "/", site], check=True)
    shutil.rmtree(site / "bin", ignore_errors=True)
    lay_out_man_page(root, site / "share/man/man1/accelwatch.1")
    shutil.rmtree(site / "share", ignore_errors=True)


def lay_out_environment(root: Path, python: Path) -> Path:
    """An empty environment and the command; its folder of packages."""
    home = root / HOME
    version = interpreter_version(python)
    site = home / f"lib/python{version}/site-packages"
    site.mkdir(parents=True)
    (home / "bin").mkdir()
    # What `python -m venv` makes, without what belongs to the machine that builds.
    (home / "bin/python").symlink_to(f"/usr/bin/python{version}")
    settings = "home = /usr/bin\ninclude-system-site-packages = false\n"
    (home / "pyvenv.cfg").write_text(settings, encoding="utf-8")
    command = home / "bin/accelwatch"
    command.write_text(_COMMAND.format(home=HOME), encoding="utf-8")
    command.chmod(0o755)
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/accelwatch").symlink_to(os.path.relpath(f"/{HOME}/bin/accelwatch", "/usr/bin"))
    return site


def lay_out_man_page(root: Path, page: Path) -> None:
    """The manual page, packed as distributions have it."""
    target = root / "usr/share/man/man1/accelwatch.1.gz"
    target.parent.mkdir(parents=True)
    target.write_bytes(gzip.compress(page.read_bytes(), mtime=0))


def lay_out_service(root: Path, service: Service) -> None:
    """Unit and configuration of a service."""
    for source, folder in ((service.unit, UNITS), (service.config, CONFIG)):
        (root / folder).mkdir(parents=True)
        shutil.copyfile(source, root / folder / source.name)


def interpreter_version(python: Path) -> str:
    """Major and minor version of an interpreter; compiled dependencies are for this one only."""
    code = "import sys; print(f'{sys.version_info.major}.{sys.version_info.minor}')"
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def own_python() -> Path:
    """The interpreter that builds."""
    return Path(sys.executable)
