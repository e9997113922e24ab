"""The Helm chart makes the same objects as the manifests, by helm itself where it is installed."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from accelwatch_lab.cluster.cached_programs import cached

Manifest = dict[str, Any]
Objects = dict[tuple[str, str], Manifest]
Render = Callable[..., Objects]

# What `make helm` builds.
VERSION = "v3.22.0"
MANIFESTS = (
    "daemonset.yaml",
    "hub.yaml",
    "hub-actions.yaml",
    "hub-status.yaml",
    "podmonitor.yaml",
    "prometheusrule.yaml",
)
ALL = (
    *("createNamespace=true", "hub.enabled=true", "hub.actions=true", "hub.status=true"),
    *("podMonitor.enabled=true", "prometheusRule.enabled=true"),
)


@pytest.fixture(scope="module")
def chart(examples: Path) -> Path:
    return examples / "helm" / "accelwatch"


def by_name(text: str) -> Objects:
    found = [one for one in yaml.safe_load_all(text) if one]
    objects = {(one["kind"], one["metadata"]["name"]): one for one in found}
    assert len(objects) == len(found)
    return objects


@pytest.fixture(scope="module")
def helm(chart: Path) -> Callable[..., str]:
    """Renders the chart with settings; helm's complaint is a RuntimeError."""
    built = cached("helm", VERSION) / "helm"
    program = shutil.which("helm") or (str(built) if os.access(built, os.X_OK) else None)
    if program is None:
        pytest.skip("helm is not installed: make helm")

    def run(*settings: str, namespace: str = "accelwatch", kubernetes: str = "1.37.2") -> str:
        words = [program, "template", "accelwatch", str(chart), "--namespace", namespace]
        words += ["--kube-version", kubernetes]
        words += [word for setting in settings for word in ("--set", setting)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    return run


@pytest.fixture(scope="module")
def render(helm: Callable[..., str]) -> Render:
    def run(*settings: str, **more: str) -> Objects:
        return by_name(helm(*settings, **more))

    return run


def manifests(examples: Path, *names: str) -> Objects:
    texts = [(examples / "kubernetes" / name).read_text("utf-8") for name in names]
    return {key: one for text in texts for key, one in by_name(text).items()}


def test_everything_is_what_kustomize_makes(render: Render, examples: Path) -> None:
    rendered, written = render(*ALL), manifests(examples, *MANIFESTS)
    assert sorted(rendered) == sorted(written)
    for key, one in written.items():
        assert rendered[key] == one, key


def test_by_default_there_are_agents_and_nothing_else(render: Render, examples: Path) -> None:
    written = manifests(examples, "daemonset.yaml")
    del written["Namespace", "accelwatch"]
    assert render() == written


def test_without_actions_the_hub_may_change_nothing(render: Render, examples: Path) -> None:
    rendered = render("agent.enabled=false", "hub.enabled=true")
    assert rendered == manifests(examples, "hub.yaml")
    assert render("agent.enabled=false", "hub.actions=true", "hub.status=true") == {}


@pytest.mark.parametrize(
    ("settings", "patches"),
    [
        (("agent.nvidiaRuntime=true",), ("nvidia.yaml",)),
        (("agent.privileged=false",), ("unprivileged.yaml",)),
        (
            ("agent.nvidiaRuntime=true", "agent.privileged=false"),
            ("nvidia.yaml", "unprivileged.yaml"),
        ),
    ],
)
def test_settings_are_the_patches_of_kustomize(
    render: Render,
    examples: Path,
    tmp_path: Path,
    settings: tuple[str, ...],
    patches: tuple[str, ...],
) -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not on PATH")
    for name in ("daemonset.yaml", *patches):
        shutil.copy(examples / "kubernetes" / name, tmp_path)
    config = {"resources": ["daemonset.yaml"], "patches": [{"path": name} for name in patches]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(config), "utf-8")
    done = subprocess.run(
        [kubectl, "kustomize", tmp_path], capture_output=True, text=True, timeout=60, check=True
    )
    assert render("createNamespace=true", *settings) == by_name(done.stdout)


def test_another_namespace_and_image_are_everywhere(render: Render) -> None:
    rendered = render(*ALL, "image.repository=r.example/a", "image.tag=1.2", namespace="other")
    text = json.dumps([one for key, one in rendered.items() if key[0] != "ConfigMap"])
    assert '"namespace": "accelwatch"' not in text
    assert "registry.example.com" not in text
    images = re.findall(r'"image": "([^"]+)"', text)
    assert images == ["r.example/a:1.2"] * 2


def test_what_is_optional_is_taken(render: Render) -> None:
    rendered = render(
        "hub.enabled=true",
        "imagePullSecrets[0].name=pull",
        "agent.nodeSelector.gpu=yes",
        "hub.nodeSelector.infra=yes",
        "hub.tolerations[0].operator=Exists",
        "hub.storage.className=fast",
    )
    agent = rendered["DaemonSet", "accelwatch-agent"]["spec"]["template"]["spec"]
    hub = rendered["Deployment", "accelwatch-hub"]["spec"]["template"]["spec"]
    assert agent["imagePullSecrets"] == hub["imagePullSecrets"] == [{"name": "pull"}]
    assert (agent["nodeSelector"], hub["nodeSelector"]) == ({"gpu": "yes"}, {"infra": "yes"})
    assert hub["tolerations"] == [{"operator": "Exists"}]
    claim = rendered["PersistentVolumeClaim", "accelwatch-hub"]
    assert claim["spec"]["storageClassName"] == "fast"


@pytest.mark.parametrize(
    "setting",
    [
        "image.tag=",
        "agent.privileged=maybe",
        "agent.maxUnavailable=0%",
        "hub.replicas=2",
        "hub.storage.size=much",
        "podMonitor.interval=often",
        "hubs.enabled=true",
    ],
)
def test_values_that_make_no_sense_are_refused(helm: Callable[..., str], setting: str) -> None:
    with pytest.raises(RuntimeError, match="schema"):
        helm(setting)


def test_versions_that_are_not_supported_are_refused(helm: Callable[..., str]) -> None:
    helm(kubernetes="1.31.14")
    with pytest.raises(RuntimeError, match="kubeVersion"):
        helm(kubernetes="1.30.9")


# What can be said of the chart without helm.


def leaves(value: object, path: str = "") -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else key)
    else:
        yield path


def test_templates_use_the_values_that_there_are_and_all_of_them(chart: Path) -> None:
    texts = [file.read_text("utf-8") for file in sorted((chart / "templates").iterdir())]
    used = {path for text in texts for path in re.findall(r"\.Values((?:\.\w+)+)", text)}
    used = {path.removeprefix(".") for path in used}
    values = yaml.safe_load((chart / "values.yaml").read_text("utf-8"))
    given = set(leaves(values))
    whole = {"agent.resources", "hub.resources"}
    given = {next((one for one in whole if path.startswith(one)), path) for path in given}
    assert used == given


def test_the_schema_knows_the_values_that_there_are_and_no_others(chart: Path) -> None:
    schema = json.loads((chart / "values.schema.json").read_text("utf-8"))
    values = yaml.safe_load((chart / "values.yaml").read_text("utf-8"))

    def compare(part: Manifest, value: Manifest, path: str) -> None:
        assert part["additionalProperties"] is False, path
        known = part["properties"]
        # Helm itself adds `global`.
        assert set(known) - {"global"} == set(value), path
        for key, inner in value.items():
            if known[key].get("type") == "object":
                compare(known[key], inner, f"{path}.{key}")

    compare(schema, values, "")


def test_configurations_and_versions_are_those_of_the_manifests(
    chart: Path, examples: Path
) -> None:
    values = yaml.safe_load((chart / "values.yaml").read_text("utf-8"))
    written = manifests(examples, "daemonset.yaml", "hub.yaml")
    for name in ("agent", "hub"):
        assert (
            values[name]["config"]
            == written["ConfigMap", f"accelwatch-{name}"]["data"][f"{name}.yaml"]
        )
    meta = yaml.safe_load((chart / "Chart.yaml").read_text("utf-8"))
    assert meta["version"] == meta["appVersion"] == values["image"]["tag"]
    containers = written["Deployment", "accelwatch-hub"]["spec"]["template"]["spec"]["containers"]
    image = f"{values['image']['repository']}:{values['image']['tag']}"
    assert [one["image"] for one in containers] == [image]
