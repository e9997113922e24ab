"""Flags of the agent that say what is read mean what they mean to a snapshot."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from accelwatch.base.errors import UsageError
from accelwatch.cli.options import FlagValue
from accelwatch.cli.servers import agent_command
from accelwatch.config.layers import effective
from accelwatch.config.model import Settings
from accelwatch.schema.catalogue.lookup import opt_in_groups


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings of the agents that were started, without starting them."""
    given: list[Settings] = []

    def run(file: Path | None, flags: Mapping[str, FlagValue]) -> int:
        given.append(effective(file, {}, flags).settings)
        return 0

    monkeypatch.setattr(agent_command, "run_agent", run)
    monkeypatch.setattr("accelwatch.system.daemon.privacy.protect_process", lambda: None)
    return given


def agent(*words: str) -> Result:
    return CliRunner().invoke(agent_command.agent, list(words))


def test_root_backends_and_groups(started: list[Settings], tmp_path: Path) -> None:
    words = ("--root", str(tmp_path), "--backend", "amd,host", "-b", "intel", "--collect", "pcie")
    assert agent(*words).exit_code == 0
    assert agent("--collect", "pcie,links").exit_code == 0
    assert agent("--collect", "links", "--collect", "all").exit_code == 0
    configured, plain, everything = started
    assert str(configured.collect.root) == str(tmp_path)
    assert configured.collect.backends == ("amd", "host", "intel")
    assert configured.exposition.groups == {"pcie"}
    assert str(plain.collect.root) == "/"
    assert plain.exposition.groups == {"pcie", "links"}
    assert everything.exposition.groups == set(opt_in_groups())


def test_a_root_that_is_not_there_is_a_mistake(started: list[Settings]) -> None:
    error = agent("--root", "/no/such/root").exception
    assert isinstance(error, UsageError)
    assert str(error) == "--root /no/such/root: no such directory"
    assert started == []
