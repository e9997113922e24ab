"""Conditions, taints and labels of other tools become problems; what is not theirs does not."""

import json
from typing import Any

import msgspec
import pytest

from accelwatch.fleet.evidence.node_conditions import Tools, report_of
from accelwatch.fleet.evidence.node_objects import ConditionedNode
from accelwatch.fleet.evidence.problem import NodeReport
from accelwatch.fleet.evidence.tools import CONDITIONS, ConditionRow, TaintRow


def node(*conditions: dict[str, Any], taints: Any = None, labels: Any = None) -> ConditionedNode:
    """As the API server writes it, with what is passed over."""
    document = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1", "uid": "u", "resourceVersion": "7", "labels": labels or {}},
        "spec": {"podCIDR": "10.0.0.0/24", "taints": taints},
        "status": {
            "conditions": list(conditions),
            "addresses": [
                {"type": "InternalIP", "address": "10.1.0.1"},
                {"type": "Hostname", "address": "n1.example"},
            ],
        },
    }
    return msgspec.json.decode(json.dumps(document), type=ConditionedNode)


def condition(kind: str, status: str, **more: str) -> dict[str, str]:
    return {
        "type": kind,
        "status": status,
        "lastHeartbeatTime": "2026-11-28T10:00:00Z",
        "lastTransitionTime": "2026-11-28T09:00:00Z",
        **more,
    }


def report(*conditions: dict[str, Any], tools: Tools | None = None, **more: Any) -> NodeReport:
    return report_of(node(*conditions, **more), tools or Tools())


def found(report: NodeReport) -> list[tuple[str, str, str, str]]:
    return [(one.source, one.code, one.severity, one.device) for one in report.problems]


@pytest.mark.parametrize("row", CONDITIONS, ids=lambda row: row.type)
def test_each_row_is_a_problem_with_its_bad_status_only(row: ConditionRow) -> None:
    other = {"True": "False", "False": "True"}[row.bad]
    bad = report(condition(row.type, row.bad, reason="Why", message="what"))
    assert found(bad) == [(row.source, row.type, row.severity, "")]
    assert bad.problems[0].text == "Why: what"
    assert bad.problems[0].since == 1795856400.0
    assert bad.names == ("10.1.0.1", "n1.example")
    good = report(condition(row.type, other))
    assert (good.problems, good.undecided) == ((), frozenset())


def test_rows_name_each_condition_once() -> None:
    types = [row.type for row in CONDITIONS]
    assert len(types) == len(set(types))


def test_a_tool_that_does_not_know_neither_starts_nor_ends_anything() -> None:
    unknown = report(condition("GPUMissing", "Unknown"))
    assert unknown.problems == ()
    assert unknown.undecided == {"condition GPUMissing"}
    named = Tools(conditions=(ConditionRow(type="GPUMissing", source="x", bad="Unknown"),))
    assert found(report(condition("GPUMissing", "Unknown"), tools=named)) == [
        ("x", "GPUMissing", "critical", "")
    ]


@pytest.mark.parametrize("kind", ["Ready", "MemoryPressure", "DiskPressure", "SomethingOfOurs"])
def test_conditions_that_nobody_has_named_are_no_evidence(kind: str) -> None:
    for status in ("True", "False", "Unknown"):
        assert report(condition(kind, status)) == report()


@pytest.mark.parametrize("name", ["AcceleratorHealthy", "accelwatch.io/anything"])
def test_our_own_verdict_proves_nothing_whatever_is_configured(name: str) -> None:
    rows = (ConditionRow(type=name, source="x", bad="False"),)
    tools = Tools(conditions=rows, taints=(TaintRow(key=name, source="x"),))
    taints = [{"key": name, "value": "rule", "effect": "NoSchedule"}]
    own = condition(name, "False", reason=f"{name}IsNotHealthy")
    assert report(own, tools=tools, taints=taints).problems == ()


def test_our_own_taint_is_no_evidence() -> None:
    taints = [
        {"key": "accelwatch.io/quarantine", "value": "amd-gpu-unhealthy", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
    ]
    assert report(taints=taints).problems == ()


def test_nvsentinels_message_names_the_devices() -> None:
    message = (
        "ErrorCode:DCGM_FR_FAULTY_MEMORY GPU:0 PCI:0000:0f:00.0 GPU_UUID:GPU-1 bad Recommended "
        "Action=RESTART_VM;ErrorCode:X GPU:3 hot Recommended Action=NONE;ErrorCode:Y nothing named;"
    )
    bad = report(
        condition("GpuMemWatch", "True", reason="GpuMemWatchIsNotHealthy", message=message)
    )
    assert [(one.device, one.path) for one in bad.problems] == [
        ("GPU-1", "condition GpuMemWatch"),
        ("3", "condition GpuMemWatch"),
    ]
    assert bad.problems[1].text == (
        "GpuMemWatchIsNotHealthy: ErrorCode:X GPU:3 hot Recommended Action=NONE"
    )


def test_nvsentinels_other_checks_are_known_by_their_reason() -> None:
    reason = "SiteCheckIsNotHealthy"
    assert found(report(condition("SiteCheck", "True", reason=reason))) == [
        ("nvsentinel", "SiteCheck", "critical", "")
    ]
    assert report(condition("SiteCheck", "False", reason="SiteCheckIsHealthy")).problems == ()
    assert report(condition("OtherCheck", "True", reason=reason)).problems == ()


def test_amds_taint_and_labels_are_evidence() -> None:
    taints = [{"key": "amd-gpu-unhealthy", "value": "AMDGPUUnhealthy", "effect": "NoSchedule"}]
    labels = {
        "metricsexporter.amd.com.gpu.2.state": "unhealthy",
        "metricsexporter.amd.com.gpu.3.state": "healthy",
        "metricsexporter.amd.com.gpu.x.state": "unhealthy",
        "metricsexporter.amd.com.gpu.state": "unhealthy",
    }
    assert found(report(taints=taints, labels=labels)) == [
        ("amd-gpu-operator", "amd_gpu_unhealthy", "critical", ""),
        ("amd-metrics-exporter", "amd_gpu_unhealthy", "critical", "2"),
    ]


def test_a_taint_with_another_value_or_key_is_none() -> None:
    tools = Tools(taints=(TaintRow(key="site/bad", value="gpu", source="site"),))
    bad, other = (
        {"key": "site/bad", "value": value, "effect": "NoExecute"} for value in ("gpu", "x")
    )
    assert found(report(taints=[bad], tools=tools)) == [("site", "site/bad", "critical", "")]
    assert report(taints=[other], tools=tools).problems == ()
    assert report(taints=[{**bad, "key": "site/good"}], tools=tools).problems == ()


def test_what_a_site_leaves_out_is_no_evidence() -> None:
    tools = Tools(ignored=frozenset({"KubeletUnhealthy", "amd-gpu-unhealthy"}))
    taints = [{"key": "amd-gpu-unhealthy", "effect": "NoSchedule"}]
    left = report(
        condition("KubeletUnhealthy", "True"),
        condition("KernelDeadlock", "True"),
        tools=tools,
        taints=taints,
    )
    assert [one.code for one in left.problems] == ["KernelDeadlock"]


def test_a_sites_row_says_otherwise_than_ours() -> None:
    site = ConditionRow(type="KernelReady", source="site", bad="True", severity="info")
    tools = Tools(conditions=(*CONDITIONS, site))
    assert report(condition("KernelReady", "False"), tools=tools).problems == ()
    assert found(report(condition("KernelReady", "True"), tools=tools)) == [
        ("site", "KernelReady", "info", "")
    ]


def test_a_heartbeat_changes_nothing_that_is_read() -> None:
    before = condition("KernelDeadlock", "False")
    after = {**before, "lastHeartbeatTime": "2026-11-28T11:00:00Z"}
    assert node(before) == node(after)


@pytest.mark.parametrize("time", ["", "yesterday", None])
def test_a_time_that_is_none_is_absent(time: str | None) -> None:
    bad = {**condition("KernelDeadlock", "True"), "lastTransitionTime": time}
    assert report(bad).problems[0].since is None


def test_texts_of_others_are_bounded() -> None:
    (problem,) = report(condition("KernelDeadlock", "True", message="x" * 5000)).problems
    assert len(problem.text) == 1000
