"""The manifests are sound: probes, mounts, privileges, and labels that fit together."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from accelwatch.node.sampler.supervisor import Limits

Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def objects(examples: Path) -> dict[str, Manifest]:
    """The objects of the folder by kind."""
    folder = examples / "kubernetes"
    texts = [(folder / name).read_text("utf-8") for name in ("daemonset.yaml", "podmonitor.yaml")]
    documents = [document for text in texts for document in yaml.safe_load_all(text)]
    return {document["kind"]: document for document in documents}


@pytest.fixture(scope="module")
def pod(objects: dict[str, Manifest]) -> Manifest:
    spec: Manifest = objects["DaemonSet"]["spec"]["template"]["spec"]
    return spec


@pytest.fixture(scope="module")
def container(pod: Manifest) -> Manifest:
    (only,) = pod["containers"]
    assert isinstance(only, dict)
    return only


Render = Callable[..., Manifest]


@pytest.fixture
def render(examples: Path, tmp_path: Path) -> Render:
    """The DaemonSet after kustomize has applied patches."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not on PATH")
    for file in (examples / "kubernetes").glob("*.yaml"):
        (tmp_path / file.name).write_bytes(file.read_bytes())

    def run(*patches: str) -> Manifest:
        file = tmp_path / "kustomization.yaml"
        config = yaml.safe_load(file.read_text("utf-8"))
        config["patches"] = [{"path": patch} for patch in patches]
        file.write_text(yaml.safe_dump(config), "utf-8")
        done = subprocess.run(
            [kubectl, "kustomize", tmp_path],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        documents = {item["kind"]: item for item in yaml.safe_load_all(done.stdout)}
        spec: Manifest = documents["DaemonSet"]["spec"]["template"]["spec"]
        return spec

    return run


def test_objects(objects: dict[str, Manifest]) -> None:
    assert set(objects) == {"Namespace", "ServiceAccount", "ConfigMap", "DaemonSet", "PodMonitor"}
    namespaced = [item for kind, item in objects.items() if kind != "Namespace"]
    assert {item["metadata"]["namespace"] for item in namespaced} == {"accelwatch"}


def test_agent_has_no_access_to_the_api_server(objects: dict[str, Manifest], pod: Manifest) -> None:
    assert pod["automountServiceAccountToken"] is False
    assert objects["ServiceAccount"]["automountServiceAccountToken"] is False
    assert pod["serviceAccountName"] == objects["ServiceAccount"]["metadata"]["name"]


def test_pod_sees_the_host(pod: Manifest) -> None:
    assert pod["hostPID"] is True
    assert pod["tolerations"] == [{"operator": "Exists"}]


def test_probes_ask_the_agent(container: Manifest) -> None:
    assert container["livenessProbe"]["httpGet"] == {"path": "/-/healthy", "port": "metrics"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/-/ready", "port": "metrics"}


def test_listens_where_the_port_says(container: Manifest) -> None:
    (port,) = container["ports"]
    assert port["name"] == "metrics"
    assert f"--web.listen-address=0.0.0.0:{port['containerPort']}" in container["args"]
    assert container["args"][0] == "agent"


def test_one_port_in_all_examples(examples: Path, container: Manifest) -> None:
    config = yaml.safe_load((examples / "prometheus/prometheus.yml").read_text("utf-8"))
    (static,) = config["scrape_configs"][0]["static_configs"]
    port = container["ports"][0]["containerPort"]
    assert static["targets"] == [f"localhost:{port}"]


def test_everything_of_the_host_is_read_only_but_our_state(
    pod: Manifest, container: Manifest
) -> None:
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
    assert set(volumes) == set(mounts)
    writable = {name for name, mount in mounts.items() if not mount.get("readOnly")}
    assert writable == {"state", "tmp"}
    paths = {
        mounts[name]["mountPath"]: volume["hostPath"]["path"]
        for name, volume in volumes.items()
        if "hostPath" in volume
    }
    assert set(paths) == {
        "/sys",
        "/dev",
        "/var/lib/kubelet/pod-resources",
        "/var/log/pods",
        "/var/lib/accelwatch",
    }
    assert all(inside == outside for inside, outside in paths.items())
    assert container["securityContext"]["readOnlyRootFilesystem"] is True


def test_the_collector_is_ended_before_the_container_is(container: Manifest) -> None:
    assert container["resources"]["limits"]["memory"] == "512Mi"
    assert Limits().resident_bytes <= 256 << 20


def test_memory_is_bounded_and_cpu_is_not(container: Manifest) -> None:
    assert set(container["resources"]["limits"]) == {"memory"}
    assert set(container["resources"]["requests"]) == {"cpu", "memory"}


def test_configuration_is_where_the_agent_looks(
    objects: dict[str, Manifest], pod: Manifest, container: Manifest
) -> None:
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    (name,) = objects["ConfigMap"]["data"]
    assert f"--config.file={mounts['config']}/{name}" in container["args"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert volumes["config"]["configMap"]["name"] == objects["ConfigMap"]["metadata"]["name"]


def test_selectors_find_the_pod(objects: dict[str, Manifest], container: Manifest) -> None:
    labels = objects["DaemonSet"]["spec"]["template"]["metadata"]["labels"]
    monitor = objects["PodMonitor"]["spec"]
    assert objects["DaemonSet"]["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert monitor["selector"]["matchLabels"].items() <= labels.items()
    assert monitor["podMetricsEndpoints"][0]["port"] == container["ports"][0]["name"]


def test_monitor_names_the_node_and_drops_the_agents_own_pod(
    objects: dict[str, Manifest],
) -> None:
    (endpoint,) = objects["PodMonitor"]["spec"]["podMetricsEndpoints"]
    instance, dropped = endpoint["relabelings"]
    assert instance["targetLabel"] == "instance"
    assert instance["sourceLabels"] == ["__meta_kubernetes_pod_node_name"]
    assert dropped["action"] == "labeldrop"
    assert {"namespace", "pod", "container"} <= set(dropped["regex"].split("|"))


def test_without_patches(render: Render, pod: Manifest) -> None:
    assert render() == pod


def test_patch_for_the_nvidia_runtime(render: Render) -> None:
    spec = render("nvidia.yaml")
    assert spec["runtimeClassName"] == "nvidia"
    names = {variable["name"] for variable in spec["containers"][0]["env"]}
    assert names == {"NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"}
    assert "/dev" not in {mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]}


@pytest.mark.parametrize("patches", [("unprivileged.yaml",), ("nvidia.yaml", "unprivileged.yaml")])
def test_patch_without_privileges(render: Render, patches: tuple[str, ...]) -> None:
    spec = render(*patches)
    context = spec["containers"][0]["securityContext"]
    assert context["privileged"] is False
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert "dev" not in {volume["name"] for volume in spec["volumes"]}
