"""Unpacks another Slurm than the installed one into a folder of its own, and prints that folder.

Its packages come from the system's own sources of Debian packages, of a later release where need be.
Nothing is installed and no root is needed: each program is made to use the libraries beside it.
"""

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parents[3] / "build" / "slurm"
SOURCES = Path("/etc/apt")
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
# The newest first.
RELEASES = ("sid", "testing", "stable", "oldstable")
NEWEST = "newest"
PACKAGES = ("slurmctld", "slurmd", "slurm-client", "patchelf")
PROGRAMS = ("slurmctld", "slurmd", "slurmstepd", "scontrol", "squeue", "sbatch", "scancel")
PROGRAMS_OF_USERS = ("salloc", "srun", "sinfo", "sacct")
_URI = re.compile(r"https?://\S+?/debian/?(?=\s|$)", re.MULTILINE)
_CANDIDATE = re.compile(r"Candidate: (\S+)")


class NoSlurmError(Exception):
    """There is none to be had; the message says why."""


class Release:
    """One release of Debian, from the mirror of this system, of which nothing changes."""

    def __init__(self, name: str, mirror: str, folder: Path) -> None:
        self.name = name
        self.folder = folder / name
        for one in ("lists/partial", "cache/archives/partial"):
            (self.folder / one).mkdir(parents=True, exist_ok=True)
        line = f"deb [signed-by={KEYS}] {mirror} {name} main\n"
        (self.folder / "sources.list").write_text(line)
        (self.folder / "status").write_text("")

    def apt(self, program: str, *words: str) -> str:
        """What a program of apt prints that knows this release only. Raises NoSlurmError."""
        at = self.folder
        options = {
            "Dir::Etc::sourcelist": at / "sources.list",
            "Dir::Etc::sourceparts": "-",
            "Dir::State::lists": at / "lists",
            "Dir::State::status": at / "status",
            "Dir::Cache": at / "cache",
            "Acquire::Languages": "none",
            "APT::Sandbox::User": "",
        }
        given = [f"-o{key}={value}" for key, value in options.items()]
        return _run(program, *given, *words)

    def version(self) -> str:
        """Of its Slurm, `26.05.5-1`; empty where it has none."""
        self.apt("apt-get", "--quiet", "update")
        found = _CANDIDATE.search(self.apt("apt-cache", "policy", PACKAGES[0]))
        return "" if found is None or found[1] == "(none)" else found[1]

    def packages(self) -> list[Path]:
        """Slurm's, and those of all that its programs use."""
        words = ("--no-install-recommends", "--download-only")
        self.apt("apt-get", "--quiet", "--assume-yes", *words, "install", *PACKAGES)
        return sorted((self.folder / "cache" / "archives").glob("*.deb"))


def _run(*words: str) -> str:
    """Raises NoSlurmError."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoSlurmError(f"{words[0]} {words[-1]} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def mirror() -> str:
    """Where this system has its packages of Debian from. Raises NoSlurmError."""
    files = (SOURCES / "sources.list", *sorted((SOURCES / "sources.list.d").glob("*")))
    lines = (line for file in files if file.is_file() for line in file.read_text().splitlines())
    found = _URI.search("\n".join(line for line in lines if not line.lstrip().startswith("#")))
    if found is None:
        raise NoSlurmError("this system has no source of Debian packages in /etc/apt")
    return found[0]


def unpacked(wanted: str, folder: Path = FOLDER) -> Path:
    """The folder with `bin` and `plugins` of a version, made now unless it is there."""
    known = folder / wanted
    if wanted != NEWEST and (known / "bin").is_dir():
        return known
    release, version = _found(wanted, folder)
    made = folder / version
    if not (made / "bin").is_dir():
        shutil.rmtree(made, ignore_errors=True)
        (made / "root").mkdir(parents=True)
        for package in release.packages():
            _run("dpkg-deb", "--extract", str(package), str(made / "root"))
        _arrange(made)
    if wanted != NEWEST:
        known.unlink(missing_ok=True)
        known.symlink_to(made.name)
    return made


def _found(wanted: str, folder: Path) -> tuple[Release, str]:
    where, seen = mirror(), []
    for name in RELEASES:
        release = Release(name, where, folder / "releases")
        version = release.version()
        seen.append(f"{name} has {version or 'none'}")
        if version and (wanted == NEWEST or version.startswith((f"{wanted}.", f"{wanted}-"))):
            return release, version
    raise NoSlurmError(f"no release has Slurm {wanted}: {', '.join(seen)}")


def _arrange(made: Path) -> None:
    """Programs that use the libraries beside them, and no others, whoever begins them."""
    root = made / "root"
    loader = _first(root.glob("usr/lib/*/ld-linux*.so.*"), "a loader")
    libraries = loader.parent
    plugins = libraries / "slurm-wlm"
    (made / "plugins").symlink_to(plugins.relative_to(made))
    unfinished = made / "bin.unfinished"
    unfinished.mkdir()
    patch = (str(loader), "--library-path", str(libraries), str(root / "usr/bin/patchelf"))
    search = f"{libraries}:{plugins}"
    for name in (*PROGRAMS, *PROGRAMS_OF_USERS):
        paths = (root / "usr" / sub for sub in (f"bin/{name}", f"sbin/{name}-wlm", f"sbin/{name}"))
        path = _first((path for path in paths if path.is_file()), name)
        copy = shutil.copy(path, unfinished / name)
        use = ("--set-interpreter", str(loader), "--force-rpath", "--set-rpath", search)
        _run(*patch, *use, str(copy))
    unfinished.rename(made / "bin")


def _first(paths: Iterator[Path], what: str) -> Path:
    """Raises NoSlurmError."""
    found = next(paths, None)
    if found is None:
        raise NoSlurmError(f"the packages have no {what}")
    return found


def main() -> int:
    """Print the folder of a version."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", nargs="?", default=NEWEST, help="26.05, say; the newest if none")
    try:
        print(unpacked(parser.parse_args().version))
    except NoSlurmError as error:
        print(f"unpacked_slurm: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
