"""Owners as series of the exposition, and the join with them that the documentation shows."""

import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from accelwatch.exposition.selection import Selection
from accelwatch.fleet.dialects import read_devices
from accelwatch.schema.snapshot import Owner, Snapshot
from accelwatch_prometheus.render import Renderer
from node.workloads.annotation import MIG, kubernetes, partition
from node.workloads.fake_node import UID
from support.machines.composed import device, snapshot, view

OWNED = (
    kubernetes(namespace="ml", pod="p", container="c", pod_uid=UID, resource="nvidia.com/gpu"),
    Owner(kind="job", scheduler="slurm", job_id="7", user="ada", account="physics", queue="h100"),
)


def owned_snapshot() -> Snapshot:
    part = msgspec.structs.replace(
        view(0), device=partition(device(0), "gi1/ci0", MIG), owners=OWNED[:1]
    )
    return snapshot(msgspec.structs.replace(view(0), owners=OWNED[1:]), part)


def test_a_session_has_its_name_beside_its_id() -> None:
    owner = Owner(kind="job", scheduler="backendai", job_id="5a0e", user="ada", job_name="llama")
    shot = snapshot(msgspec.structs.replace(view(0), owners=(owner,)))
    text = Renderer().render(shot, Selection())
    assert 'scheduler="backendai",job_id="5a0e",user="ada",job_name="llama"} 1' in text
    (device_view,) = read_devices(text, 1.7e9).devices
    assert device_view.owners == (owner,)


def test_the_exposition_names_owners_of_devices_and_partitions() -> None:
    lines = [
        line
        for line in Renderer().render(owned_snapshot(), Selection()).splitlines()
        if "allocation_info{" in line
    ]
    identity = f'vendor="nvidia",device="nvidia0",uuid="{device(0).uuid}"'
    assert lines == [
        f'accel_kubernetes_allocation_info{{{identity},partition="gi1/ci0",namespace="ml",pod="p",'
        f'container="c",pod_uid="{UID}",resource="nvidia.com/gpu"}} 1',
        f'accel_job_allocation_info{{{identity},scheduler="slurm",job_id="7",user="ada",'
        'account="physics",queue="h100"} 1',
    ]


JOIN = """
rule_files: []
tests:
  - interval: 15s
    input_series:
{series}
    promql_expr_test:
      - expr: >-
          accel_power_watts
          * on (instance, uuid) group_left (job_id, user) accel_job_allocation_info
        eval_time: 15s
        exp_samples:
          - labels: '{{vendor="nvidia", device="nvidia0", uuid="{uuid}", instance="a:1",
              job_id="7", user="ada"}}'
            value: 642.125
"""


def test_the_documented_join_works_in_prometheus(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not on PATH (Debian: apt install prometheus)")
    text = Renderer().render(owned_snapshot(), Selection())
    series = "\n".join(
        f"      - series: '{name[:-1]},instance=\"a:1\"}}'\n        values: '{value} {value}'"
        for name, value in (
            line.rsplit(" ", 1)
            for line in text.splitlines()
            if line.startswith(("accel_power_watts{", "accel_job_allocation_info{"))
        )
    )
    rules = tmp_path / "join.yml"
    rules.write_text(JOIN.format(series=series, uuid=device(0).uuid))
    run = subprocess.run(
        [promtool, "test", "rules", str(rules)], text=True, capture_output=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
