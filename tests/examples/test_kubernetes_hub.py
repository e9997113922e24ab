"""The hub's manifests and the rules for the Prometheus operator are sound and current."""

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from accelwatch.fleet.hub.model import load_settings

Manifest = dict[str, Any]
Promtool = Callable[..., str]


@pytest.fixture(scope="module")
def objects(examples: Path) -> dict[str, Manifest]:
    text = (examples / "kubernetes/hub.yaml").read_text("utf-8")
    return {document["kind"]: document for document in yaml.safe_load_all(text)}


@pytest.fixture(scope="module")
def pod(objects: dict[str, Manifest]) -> Manifest:
    spec: Manifest = objects["Deployment"]["spec"]["template"]["spec"]
    return spec


def test_there_is_one_hub_without_any_right_of_root(
    objects: dict[str, Manifest], pod: Manifest
) -> None:
    assert objects["Deployment"]["spec"]["replicas"] == 1
    assert objects["Deployment"]["spec"]["strategy"] == {"type": "Recreate"}
    assert pod["securityContext"]["runAsNonRoot"] is True
    (container,) = pod["containers"]
    context = container["securityContext"]
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert context["readOnlyRootFilesystem"] is True
    assert context["allowPrivilegeEscalation"] is False


def test_labels_names_and_ports_fit_together(objects: dict[str, Manifest], pod: Manifest) -> None:
    labels = objects["Deployment"]["spec"]["template"]["metadata"]["labels"]
    (container,) = pod["containers"]
    (port,) = container["ports"]
    assert objects["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert objects["Service"]["spec"]["selector"] == labels
    assert objects["Service"]["spec"]["ports"][0]["targetPort"] == port["name"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["port"] == port["name"]
    assert pod["serviceAccountName"] == objects["ServiceAccount"]["metadata"]["name"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert set(volumes) == {mount["name"] for mount in container["volumeMounts"]}
    claim = objects["PersistentVolumeClaim"]["metadata"]["name"]
    assert volumes["state"]["persistentVolumeClaim"]["claimName"] == claim
    assert volumes["config"]["configMap"]["name"] == objects["ConfigMap"]["metadata"]["name"]


def test_the_configuration_is_a_hubs(
    objects: dict[str, Manifest], pod: Manifest, tmp_path: Path
) -> None:
    (name,) = objects["ConfigMap"]["data"]
    (container,) = pod["containers"]
    assert container["args"] == ["hub", f"--config.file=/etc/accelwatch/{name}"]
    file = tmp_path / name
    file.write_text(objects["ConfigMap"]["data"][name], "utf-8")
    settings = load_settings(file)
    (address,) = settings.web.listen_address
    assert address.endswith(f":{container['ports'][0]['containerPort']}")
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert settings.state_dir == mounts["state"]


def test_what_is_commented_out_makes_a_hub_that_plans(
    objects: dict[str, Manifest], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a pod. Prose in comments begins in another way."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    text: str = objects["ConfigMap"]["data"]["hub.yaml"]
    file = tmp_path / "hub.yaml"
    file.write_text(re.sub(r"(?m)^# (?=evidence:|rules:|remedy:|  )", "", text), "utf-8")
    settings = load_settings(file)
    (action,) = settings.remedy.actions
    assert (action.type, settings.remedy.ceiling) == ("kubernetes", "observe")
    assert len(settings.evidence.kubernetes) == 1
    assert settings.rules.packs


def test_the_rights_are_those_of_the_hubs_own_example(examples: Path) -> None:
    def rights(name: str) -> list[Manifest]:
        documents = yaml.safe_load_all((examples / name).read_text("utf-8"))
        return [one for one in documents if one["apiVersion"].startswith("rbac")]

    assert rights("kubernetes/hub.yaml") == rights("hub/kubernetes-rbac.yaml")


def test_the_rules_of_the_operator_are_current_and_valid(
    examples: Path, promtool: Promtool, tmp_path: Path
) -> None:
    script = examples / "kubernetes/build_rules.py"
    spec = importlib.util.spec_from_file_location("build_rules", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (examples / "kubernetes/prometheusrule.yaml").read_text("utf-8")
    assert text == module.build(), "run: python examples/kubernetes/build_rules.py"
    assert module.CHART_TARGET.read_text("utf-8") == module.build_spec()
    document = yaml.safe_load(text)
    assert (document["apiVersion"], document["kind"]) == (
        "monitoring.coreos.com/v1",
        "PrometheusRule",
    )
    # The operator hands the spec to Prometheus as a rule file.
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump(document["spec"]), "utf-8")
    count = sum(len(group["rules"]) for group in document["spec"]["groups"])
    assert f"{count} rules found" in promtool("check", "rules", file)
    names = [group["name"] for group in document["spec"]["groups"]]
    assert len(names) == len(set(names))
