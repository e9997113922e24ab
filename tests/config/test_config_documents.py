"""The documentation, the examples and the command name the settings that there are."""

from pathlib import Path

import yaml

from accelwatch.cli.options import settings_named
from accelwatch.cli.servers.agent_command import AgentOptions, agent
from accelwatch.config.layers import flag_name, leaves
from accelwatch.config.model import Settings
from accelwatch.config.reader import Reader
from accelwatch.web.protection.web_config import WebConfig
from config.loading import load


def test_the_documentation_names_every_setting() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"
    text = page.read_text("utf-8")
    assert [dotted for dotted in leaves() if f"`{dotted}`" not in text] == []
    for block in text.split("```yaml")[1:]:
        assert isinstance(yaml.safe_load(block.partition("```")[0]), dict)


EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_the_examples_are_right() -> None:
    assert load(EXAMPLES / "systemd" / "agent.yaml").settings.web == Settings().web
    values, complaints = Reader(WebConfig).read(EXAMPLES / "systemd" / "web-config.yml")
    assert complaints == []
    assert values["tls_server_config.cert_file"].value == "/etc/accelwatch/tls/agent.crt"
    (manifest,) = (
        document["data"]["agent.yaml"]
        for document in yaml.safe_load_all(
            (EXAMPLES / "kubernetes" / "daemonset.yaml").read_text("utf-8")
        )
        if document["kind"] == "ConfigMap"
    )
    assert Reader(Settings).parse(manifest.encode(), Path("agent.yaml"))[1] == []


def test_every_flag_is_named_as_it_is_given() -> None:
    """A mistake in a flag is told under the name that the command takes."""
    taken = {name for option in agent.params for name in option.opts}
    for dotted in settings_named(AgentOptions).values():
        assert flag_name(dotted) in taken
