"""The shipped configurations, targets, unit and permissions of the hub are sound as they are."""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from accelwatch.fleet.hub.model import load_settings
from accelwatch.fleet.target import targets_of
from accelwatch.fleet.targets.discovery import discoverers
from accelwatch.fleet.targets.files import read_targets

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "hub"
KINDS = {
    "hub": ["files"],
    "inventory": ["http", "dns"],
    "slurm": ["slurm"],
    "kubernetes": ["kubernetes"],
    "over-prometheus": [],
    "pod": [],
    "over-hubs": [],
}


@pytest.mark.parametrize("name", KINDS)
def test_an_example_configuration_is_read(name: str) -> None:
    settings = load_settings(EXAMPLES / f"{name}.yaml")
    found = discoverers(settings.targets, settings.scrape)
    assert [one.partition(" ")[0] for one in found] == KINDS[name]


def test_every_configuration_is_tested() -> None:
    files = {file.stem for file in EXAMPLES.glob("*.yaml")}
    assert files == {*KINDS, "kubernetes-rbac"}


def test_the_written_out_targets() -> None:
    settings = load_settings(EXAMPLES / "hub.yaml")
    assert len(targets_of(settings.targets.static, {}, settings.scrape.scheme)) == 63


def test_the_example_targets_are_read() -> None:
    assert len(read_targets(EXAMPLES / "targets.json")) == 63


def test_the_permissions_are_those_that_the_configuration_needs() -> None:
    documents = yaml.safe_load_all((EXAMPLES / "kubernetes-rbac.yaml").read_text())
    objects = {one["kind"]: one for one in documents}
    allowed = {
        (group, resource)
        for rule in objects["ClusterRole"]["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        if set(rule["verbs"]) == {"list", "watch"}
    }
    assert allowed == {("", "pods"), ("", "nodes"), ("discovery.k8s.io", "endpointslices")}
    account = objects["ServiceAccount"]["metadata"]
    (subject,) = objects["ClusterRoleBinding"]["subjects"]
    assert (subject["name"], subject["namespace"]) == (account["name"], account["namespace"])
    agents = (EXAMPLES.parent / "kubernetes" / "daemonset.yaml").read_text()
    (cluster,) = load_settings(EXAMPLES / "kubernetes.yaml").targets.kubernetes
    assert cluster.label_selector.replace("=", ": ") in agents
    assert f"- name: {cluster.port_name}" in agents


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not on PATH; Debian has it in the package systemd")
    text = (EXAMPLES / "accelwatch-hub.service").read_text()
    copy = tmp_path / "accelwatch-hub.service"
    copy.write_text(text.replace("/usr/bin/accelwatch", "/bin/true"))
    done = subprocess.run(
        [program, "verify", copy], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if "accelwatch" in line] == []
