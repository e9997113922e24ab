"""The root file system of a container image, made in a folder by the steps of its Dockerfile.

For where no builder is at hand: COPY copies, RUN runs, and `/opt` and `/var` of the image are below the
folder of the stage. Nothing is asked of a registry or a package index: what the project depends on is
taken from the environment of the tests, and an interpreter of this machine stands for that of the base
image. FROM, USER and the like are only read.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# Folders of the image that instructions name.
_OF_IMAGE = re.compile(r"(?<![\w./])/(?:opt|var)/")
_OFFLINE = {
    "PIP_NO_INDEX": "1",
    # 0 is `--no-build-isolation` (pip's documentation of boolean options).
    "PIP_NO_BUILD_ISOLATION": "0",
    "PIP_QUIET": "1",
}


class Instruction(NamedTuple):
    """One line of a Dockerfile."""

    name: str
    text: str


class Stage(NamedTuple):
    """From a FROM to the next."""

    name: str
    instructions: tuple[Instruction, ...]


def instructions_of(dockerfile: Path) -> list[Instruction]:
    """Those of a file, without comments, continued lines joined."""
    text = dockerfile.read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [Instruction(line.split()[0], line.partition(" ")[2].strip()) for line in lines]


def stages_of(instructions: list[Instruction]) -> list[Stage]:
    """Without what stands before the first FROM."""
    starts = [at for at, one in enumerate(instructions) if one.name == "FROM"]
    stages = []
    for start, end in zip(starts, [*starts[1:], len(instructions)], strict=True):
        name = instructions[start].text.partition(" AS ")[2].strip()
        stages.append(Stage(name, tuple(instructions[start + 1 : end])))
    return stages


class ImageRoot:
    """Makes the stages of a Dockerfile; `root` is the file system of the one that was made last."""

    def __init__(self, folder: Path, context: Path, dockerfile: Path, python: Path) -> None:
        """`folder` is empty, `context` what would be sent to the builder."""
        self._folder = folder
        self._context = context
        self._python = python
        self._ignored = dockerfile.with_name(f"{dockerfile.name}.dockerignore")
        # One path for all stages: an environment knows the path that it was made at.
        self.root = folder / "root"
        self._made: dict[str, Path] = {}
        self._workdir = Path("/")

    def make(self, stage: Stage) -> None:
        """Do what a stage says. Raises CalledProcessError where a RUN fails."""
        folder = self._folder / f"stage{len(self._made)}"
        folder.mkdir()
        self.root.unlink(missing_ok=True)
        self.root.symlink_to(folder.name)
        self._made[stage.name] = folder
        for name, text in stage.instructions:
            if name == "WORKDIR":
                self._workdir = self._inside(text)
                self._workdir.mkdir(parents=True, exist_ok=True)
            elif name == "COPY":
                self._copy(text)
            elif name == "RUN":
                for command in text.split("&&"):
                    self._run(command.strip())

    def _inside(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def _copy(self, text: str) -> None:
        *sources, target = text.split()
        if sources[0].startswith("--from="):
            made = self._made[sources[0].removeprefix("--from=")]
            for source in sources[1:]:
                shutil.copytree(made / source.lstrip("/"), self._inside(target), symlinks=True)
            return
        for source in sources:
            # A folder's content goes into the target, a file into the target folder.
            path, into = self._context / source, self._workdir / target
            if path.is_dir():
                shutil.copytree(path, into, ignore=self._ignore, dirs_exist_ok=True)
            else:
                into = into / path.name if target.endswith("/") else into
                into.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, into)

    def _ignore(self, _folder: str, names: list[str]) -> set[str]:
        patterns = self._ignored.read_text("utf-8").splitlines()
        anywhere = {line.removeprefix("**/") for line in patterns if line.startswith("**/")}
        return anywhere & set(names)

    def _run(self, command: str) -> None:
        words = command.split()
        if words[0] == "useradd":
            # Who it is counts, and whose the folder; a name is of this machine.
            home = self._inside(words[words.index("--home-dir") + 1])
            home.mkdir(parents=True)
            if os.geteuid() == 0:
                uid = int(words[words.index("--uid") + 1])
                os.chown(home, uid, uid)
            return
        there = _OF_IMAGE.sub(lambda match: f"{self.root}{match[0]}", command)
        there = re.sub(r"^python ", f"{self._python} ", there)
        environ = {"PATH": os.defpath, "HOME": str(self._folder), "LANG": "C.UTF-8", **_OFFLINE}
        subprocess.run(there, shell=True, cwd=self._workdir, env=environ, check=True, timeout=500)
        for site in self._new_environments():
            paths = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
            (site / "dependencies-of-the-tests.pth").write_text("\n".join(paths) + "\n", "utf-8")

    def _new_environments(self) -> Iterator[Path]:
        for config in self.root.glob("opt/*/pyvenv.cfg"):
            version = f"python{sys.version_info.major}.{sys.version_info.minor}"
            yield config.parent / "lib" / version / "site-packages"


def readable_python() -> Path | None:
    """An interpreter of this version that other users may start; None where there is none."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (Path(sys.executable).resolve(), Path("/usr/bin", name)):
        folders = candidate.parents
        if candidate.exists() and all(folder.stat().st_mode & 0o001 for folder in folders):
            return candidate
    return None
