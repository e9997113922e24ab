"""Mistakes in `targets` and `merge` of hub.yaml: file, line, key and what is expected."""

from pathlib import Path

import pytest

from accelwatch.base.errors import ConfigError
from accelwatch.fleet.hub.flags import with_targets
from accelwatch.fleet.hub.model import HubSettings, load_settings
from accelwatch.fleet.targets.discovery import discoverers


def load(tmp_path: Path, text: str) -> HubSettings:
    file = tmp_path / "hub.yaml"
    file.write_text(text)
    return load_settings(file)


WHOLE = """\
targets:
  static: n[1-2]
  http:
    - https://sd.example/targets
    - url: http://sd.example/more
      refresh_interval: 5m
      authorization: {credentials_file: token}
  dns:
    - agents.monitoring.svc:9877
    - names: [_accel._tcp.example]
      type: SRV
      nameservers: "127.0.0.1:53"
  kubernetes:
    role: endpointslice
    service: agents
    node_labels: {topology.kubernetes.io/zone: zone}
  slurm: {partitions: train, switch_label: rack}
  backendai:
    - http://manager:18080
    - url: https://manager.example/discovery
      agent_port: null
  rename_labels: {__meta_rack: rack}
merge: {precedence: [all_smi, dcgm]}
"""


def test_every_discovery_is_configured(tmp_path: Path) -> None:
    settings = load(tmp_path, WHOLE)
    first, second = settings.targets.http
    assert (first.url, first.refresh_s) == ("https://sd.example/targets", 60)
    assert second.authorization.credentials_file == str(tmp_path / "token")
    plain, service = settings.targets.dns
    assert (plain.names, plain.type) == (("agents.monitoring.svc:9877",), "A")
    assert (service.type, service.nameservers) == ("SRV", ("127.0.0.1:53",))
    (cluster,) = settings.targets.kubernetes
    assert cluster.node_labels == {"topology.kubernetes.io/zone": "zone"}
    assert settings.targets.slurm[0].partitions == ("train",)
    kinds = [name.partition(" ")[0] for name in discoverers(settings.targets, settings.scrape)]
    assert kinds[:6] == ["http", "http", "dns", "dns", "kubernetes", "slurm"]
    assert kinds[6:] == ["backendai", "backendai"]
    here, proxied = settings.targets.backendai
    assert (here.url, here.agent_port, here.platform) == ("http://manager:18080", 9877, True)
    assert (proxied.url, proxied.agent_port) == ("https://manager.example/discovery", None)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("targets:\n  static: ['n1', 'n[2-1]']", 2, "targets.static.*backwards"),
        ("targets:\n  http:\n  - url: ftp://x", 3, r"targets.http\[0\].url.*http://"),
        ("targets:\n  http:\n  - http://a\n  - refresh_interval: 5s", 4, r"http\[1\].url.*URL"),
        ("targets:\n  http:\n  - urls: x", 3, r"http\[0\].urls: unknown key; did you mean url"),
        (
            "targets:\n  http:\n  - url: http://a\n    basic_auth:\n      password: x",
            5,
            "password_file",
        ),
        (
            "targets:\n  http:\n  - url: http://a\n    basic_auth:\n      username: x",
            5,
            r"http\[0\].basic_auth: username and password_file",
        ),
        ("targets:\n  http:\n  - [a]", 3, r"http\[0\]: expected a mapping"),
        ("targets:\n  dns: {type: MX}", 2, "A, AAAA, SRV"),
        ("targets:\n  dns: {type: SRV}", 2, r"dns\[0\].names: expected a name"),
        ("targets:\n  dns:\n  - 'a b'", 3, r"dns\[0\].names.*not a valid DNS name"),
        (
            "targets:\n  dns:\n  - names: a\n    nameservers: 'ns.example:53'",
            4,
            r"dns\[0\].nameservers.*IP:port",
        ),
        (
            "targets:\n  kubernetes:\n    service: x",
            3,
            r"kubernetes\[0\].service.*endpointslice",
        ),
        ("targets:\n  kubernetes:\n    node_labels: {a: 'b c'}", 3, "not a valid label name"),
        ("targets:\n  backendai: {timeout: 5s}", 2, r"backendai\[0\].url.*expected a URL"),
        (
            "targets:\n  backendai: {url: 'http://m', agent_port: null, platform: false}",
            2,
            r"backendai\[0\].*nothing is followed",
        ),
        (
            "targets:\n  backendai:\n    url: http://m\n    server:\n"
            "      {url: 'http://m', access_key: A}",
            5,
            r"backendai\[0\].server.secret_key_file.*name the file",
        ),
        (
            "targets:\n  backendai:\n    url: http://m\n    server:\n"
            "      {url: 'http://m', access_key: 'A B', secret_key_file: /key}",
            5,
            r"backendai\[0\].server.access_key.*without blanks",
        ),
        (
            "targets:\n  backendai:\n    url: http://m\n    server:\n"
            "      {access_key: A, secret_key_file: /key}",
            5,
            r"backendai\[0\].server.url.*expected",
        ),
        ("targets:\n  slurm:\n    port: 0", 3, r"slurm\[0\].port.*from 1 to 65535"),
        ("targets:\n  rename_labels: {instance: node}", 2, "instance never names a node"),
        ("targets:\n  keep_labels: ['a-b']", 2, "not a valid label name"),
        ("merge:\n  precedence: [dcgm, dgcm-exporter]", 2, "did you mean dcgm-exporter"),
        ("\nscrape:\n  tls_config:\n    cert_file: x", 4, "cert_file and key_file"),
        ("\nstate:\n  stale_after: 40s", 3, "state: slow_after"),
    ],
)
def test_a_mistake_names_line_key_and_mend(
    tmp_path: Path, text: str, line: int, message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        load(tmp_path, text + "\n")
    assert f"hub.yaml:{line}: " in str(caught.value)


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, "targets:\n  http: [ftp://a, ftp://b]\nmerge: {precedence: x}\n")
    assert len(str(caught.value).splitlines()) == 3


def test_flags_add_discoveries_to_those_of_the_file(tmp_path: Path) -> None:
    settings = with_targets(
        load(tmp_path, "targets: {http: http://a/x, static: n1}\n"),
        targets=["n[2-3],m1"],
        http=["http://b/x"],
        dns=["agents.svc:9400"],
        kubernetes="app=accelwatch",
        slurm=True,
    )
    found = settings.targets
    assert found.static == ("n1", "n[2-3]", "m1")
    assert [one.url for one in found.http] == ["http://a/x", "http://b/x"]
    assert [one.names for one in found.dns] == [("agents.svc:9400",)]
    assert [one.label_selector for one in found.kubernetes] == ["app=accelwatch"]
    assert len(found.slurm) == 1
    with pytest.raises(ConfigError, match=r"targets.http\[0\].url: expected a URL"):
        with_targets(HubSettings(), http=["b"])
