"""The container file: two stages, nobody's user, no secret; what it copies is all that is installed."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml


@pytest.fixture(scope="module")
def instructions(examples: Path) -> list[tuple[str, str]]:
    text = (examples / "container/Dockerfile").read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in lines]


def test_what_builds_is_not_in_the_image(instructions: list[tuple[str, str]]) -> None:
    words = [name for name, _ in instructions]
    assert words.count("FROM") == 2
    last = instructions[len(words) - words[::-1].index("FROM") :]
    assert [text for name, text in last if name == "COPY"] == [
        "--from=build /opt/accelwatch /opt/accelwatch"
    ]


def test_it_runs_as_the_user_of_the_hubs_manifest(
    examples: Path, instructions: list[tuple[str, str]]
) -> None:
    text = (examples / "kubernetes/hub.yaml").read_text("utf-8")
    (deployment,) = (one for one in yaml.safe_load_all(text) if one["kind"] == "Deployment")
    context = deployment["spec"]["template"]["spec"]["securityContext"]
    user = dict(instructions)["USER"]
    assert user == f"{context['runAsUser']}:{context['runAsGroup']}"
    assert dict(instructions)["ENTRYPOINT"] == '["accelwatch"]'


def test_no_secret_is_an_argument_or_a_variable(instructions: list[tuple[str, str]]) -> None:
    content = " ".join(text for name, text in instructions if name in ("ARG", "ENV", "RUN"))
    assert not re.search(r"password|secret|token|api_?key", content, re.IGNORECASE)


def test_everything_that_the_wheel_needs_is_copied(
    examples: Path, instructions: list[tuple[str, str]]
) -> None:
    project = tomllib.loads((examples.parent / "pyproject.toml").read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {pattern.split("/")[0] for pattern in wheel["include"]}
    needed |= {"pyproject.toml", "README.md"}
    needed |= {*project["project"]["license-files"]}
    needed |= {project["tool"]["hatch"]["metadata"]["hooks"]["custom"]["path"]}
    needed |= {str(Path(path).parent) for path in wheel["shared-data"]}
    copied = {
        word
        for name, text in instructions
        if name == "COPY" and "--from" not in text
        for word in text.split()[:-1]
    }
    assert needed <= copied
    kept = (examples / "container/Dockerfile.dockerignore").read_text("utf-8").splitlines()
    assert {line[1:] for line in kept if line.startswith("!")} == copied
