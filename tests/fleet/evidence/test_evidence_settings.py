"""What hub.yaml may say of evidence, and what is wrong with it."""

from pathlib import Path

import pytest

from accelwatch.base.errors import ConfigError
from accelwatch.fleet.evidence_settings import (
    ConditionSetting,
    Evidence,
    KubernetesEvidence,
    ReasonSetting,
    SlurmEvidence,
    TaintSetting,
)
from accelwatch.fleet.hub.model import load_settings


def loaded(folder: Path, text: str) -> Evidence:
    file = folder / "hub.yaml"
    file.write_text(f"evidence:\n{text}", "utf-8")
    return load_settings(file).evidence


def test_a_section_alone_stands_for_the_cluster_that_the_hub_runs_in(tmp_path: Path) -> None:
    assert loaded(tmp_path, "  kubernetes: {}\n  slurm: {}\n") == Evidence(
        kubernetes=(KubernetesEvidence(),), slurm=(SlurmEvidence(),)
    )


def test_evidence_may_stand_for_days(tmp_path: Path) -> None:
    assert loaded(tmp_path, "  keep: 24h\n").keep_s == Evidence().keep_s
    with pytest.raises(ConfigError, match="keep"):
        loaded(tmp_path, "  keep: 31d\n")


def test_everything_can_be_written(tmp_path: Path) -> None:
    text = """\
  kubernetes:
    - name: alpha
      api_server: https://k8s.example:6443
      token_file: token
      ca_file: /etc/ca.pem
      label_selector: gpu=true
      conditions:
        - GpuBroken
        - {type: SiteReady, bad: "False", severity: critical, source: site}
      taints: [{key: site/bad, value: gpu}]
      ignore: [KubeletUnhealthy]
  slurm:
    - {name: beta, slurm_conf: slurm.conf, refresh_interval: 30s, reasons: ["healthd:"]}
"""
    settings = loaded(tmp_path, text)
    (kubernetes,), (slurm,) = settings.kubernetes, settings.slurm
    assert kubernetes == KubernetesEvidence(
        name="alpha",
        api_server="https://k8s.example:6443",
        token_file=str(tmp_path / "token"),
        ca_file="/etc/ca.pem",
        label_selector="gpu=true",
        conditions=(
            ConditionSetting(type="GpuBroken"),
            ConditionSetting(type="SiteReady", bad="False", severity="critical", source="site"),
        ),
        taints=(TaintSetting(key="site/bad", value="gpu"),),
        ignore=("KubeletUnhealthy",),
    )
    assert slurm == SlurmEvidence(
        name="beta",
        slurm_conf=str(tmp_path / "slurm.conf"),
        refresh_s=30.0,
        reasons=(ReasonSetting(prefix="healthd:"),),
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("  kubernetes: [{}, {}]\n", "there are two clusters called 'kubernetes'"),
        ("  slurm: [{}, {}]\n", "there are two clusters called 'slurm'"),
        ("  kubernetes: {conditions: [AcceleratorHealthy]}\n", "would prove itself"),
        ("  kubernetes: {conditions: [{bad: 'True'}]}\n", "expected a condition type"),
        ("  kubernetes: {taints: [accelwatch.io/quarantine]}\n", "would prove itself"),
        ("  kubernetes: {taints: [{value: x}]}\n", "expected the key of a taint"),
        ("  kubernetes: {api_server: k8s}\n", "expected a URL"),
        ("  kubernetes: {cert_file: x}\n", "cert_file and key_file"),
        ("  slurm: {reasons: ['accelwatch:']}\n", "would prove itself"),
        ("  slurm: {reasons: [{code: x}]}\n", "expected how the reason begins"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        loaded(tmp_path, text)


@pytest.mark.parametrize("option", ["taint", "spare_taint"])
def test_a_taint_that_our_action_sets_is_no_evidence(tmp_path: Path, option: str) -> None:
    action = f"{{name: k, type: kubernetes, options: {{{option}: site.example/bad}}}}"
    file = tmp_path / "hub.yaml"
    taints = "evidence: {kubernetes: {taints: [site.example/bad]}}\n"
    file.write_text(f"{taints}remedy: {{actions: [{action}]}}\n", "utf-8")
    with pytest.raises(ConfigError, match="would prove itself"):
        load_settings(file)
    file.write_text(taints, "utf-8")
    load_settings(file)
