"""The image's root file system is made by its own steps, and the program starts from it as its user."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accelwatch import __version__
from support.processes.image import ImageRoot, instructions_of, readable_python, stages_of
from support.processes.waiting import wait_until
from support.servers.ports import free_port


class Image:
    """A file system, and how a container runtime would start it."""

    def __init__(self, root: Path, words: dict[str, str]) -> None:
        self.root = root
        self._words = words

    @property
    def command(self) -> list[str]:
        """Without CMD."""
        (program,) = json.loads(self._words["ENTRYPOINT"])
        folder = self._words["ENV"].split()[0].removeprefix("PATH=").partition(":")[0]
        return [f"{self.root}{folder}/{program}"]

    @property
    def arguments(self) -> list[str]:
        arguments: list[str] = json.loads(self._words["CMD"])
        return arguments

    @property
    def process(self) -> dict[str, Any]:
        """Of `subprocess`: user, environment and folder."""
        home = self.root / self._words["VOLUME"].lstrip("/")
        environ = {"HOME": str(home), "PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"}
        user, group = map(int, self._words["USER"].split(":"))
        changed = {"user": user, "group": group, "extra_groups": []} if os.geteuid() == 0 else {}
        return {"env": environ, "cwd": home, **changed}


@pytest.fixture(scope="module")
def image(examples: Path) -> Iterator[Image]:
    python = readable_python()
    if python is None:
        pytest.skip("no interpreter of this version that other users may start")
    dockerfile = examples / "container" / "Dockerfile"
    instructions = instructions_of(dockerfile)
    # Not pytest's own folder, which nobody else may enter.
    folder = Path(tempfile.mkdtemp(prefix="accelwatch-image-"))
    folder.chmod(0o755)
    try:
        made = ImageRoot(folder, examples.parent, dockerfile, python)
        for stage in stages_of(instructions):
            made.make(stage)
        yield Image(made.root, {one.name: one.text for one in instructions})
    finally:
        shutil.rmtree(folder)


def printed(image: Image, *words: str) -> str:
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=300, check=False, **image.process
    )
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def python_of(image: Image) -> str:
    return str(Path(image.command[0]).with_name("python"))


def test_the_program_of_the_image_starts_as_its_user(image: Image) -> None:
    assert printed(image, *image.command, "--version").split()[-1] == __version__
    where = "import accelwatch, accelwatch_kubernetes; print(accelwatch.__file__)"
    folder = Path(printed(image, python_of(image), "-c", where).strip())
    assert folder.is_relative_to(image.root / "opt")


def test_what_builds_is_not_in_it(image: Image) -> None:
    assert sorted(path.name for path in image.root.iterdir()) == ["opt", "var"]
    assert not list(image.root.rglob("*.dockerignore"))


def test_the_actions_and_receivers_can_be_loaded(image: Image) -> None:
    code = (
        "from importlib.metadata import entry_points as of\n"
        "for group in ('accelwatch.actions', 'accelwatch.alerts'):\n"
        "    for one in of(group=group): print(one.name, one.load().__module__)"
    )
    lines = printed(image, python_of(image), "-c", code).splitlines()
    assert any(line.startswith("kubernetes accelwatch_kubernetes") for line in lines)
    assert any(line.startswith("kubernetes accelwatch_kubernetes_status") for line in lines)
    assert any(line.startswith("slurm accelwatch_slurm") for line in lines)


def test_its_agent_answers(image: Image) -> None:
    port = free_port()
    words = [*image.command, *image.arguments, f"--web.listen-address=127.0.0.1:{port}"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, **image.process) as agent:
        try:

            def answer() -> str:
                assert agent.poll() is None, agent.stderr and agent.stderr.read()
                try:
                    url = f"http://127.0.0.1:{port}/metrics"
                    with urllib.request.urlopen(url, timeout=10) as page:
                        text: str = page.read().decode()
                        return text
                except OSError:
                    return ""

            wait_until(lambda: f'version="{__version__}"' in answer())
        finally:
            agent.send_signal(signal.SIGTERM)
            agent.communicate(timeout=60)
    assert agent.returncode == 0
