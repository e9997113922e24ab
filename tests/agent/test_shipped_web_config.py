"""The shipped web configuration, as it is and with its commented lines, is taken by the agent."""

import re
from pathlib import Path

import pytest

from accelwatch.web.protection.web_config import load_protection
from support.servers.certificate_authority import Authority

SHIPPED = Path(__file__).resolve().parents[2] / "examples/systemd/web-config.yml"


@pytest.mark.parametrize("client_certificates", [False, True])
def test_it_is_taken(authority: Authority, tmp_path: Path, client_certificates: bool) -> None:
    authority.issue("agent")
    text = SHIPPED.read_text().replace("/etc/accelwatch/tls/", f"{authority.folder}/")
    if client_certificates:
        text = re.sub(r"# (client_\w+:)", r"\1", text)
    file = tmp_path / "web-config.yml"
    file.write_text(text)
    protection = load_protection(file)
    assert list(protection.users) == ["prometheus"]
    assert protection.client_certificates is client_certificates
