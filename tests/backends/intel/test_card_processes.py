"""Processes on Intel cards by fdinfo: memory, busy ratios, and what cannot be seen of others."""

import os
from pathlib import Path

import pytest

from accelwatch.backend import Request
from accelwatch.base.absence import Absence
from support.machines.intel_machines import Composed


def test_processes_and_memory_from_fdinfo(composed: Composed) -> None:
    machine = composed("arc-b580")
    backend = machine.backend()
    request = Request(argv=True)
    (reading,) = backend.read(backend.discover()[0], request)
    assert reading.processes is not None
    shell, server = reading.processes
    assert (shell.pid, shell.command, shell.type) == (1500, "gnome-shell", "graphics")
    assert (server.pid, server.command, server.type) == (4100, "llama-server", "compute")
    assert server.argv == ("llama-server", "--gpu-layers", "99")
    assert server.gpu_memory_bytes == 9_437_184 * 1024
    assert server.host_memory_bytes == 200 * (1 << 20)
    assert server.start_time == 1799990000 + 410
    assert shell.gpu_memory_bytes == 262_144 * 1024
    assert reading.values["memory_used_bytes",] == (9_437_184 + 262_144 - 65_536) * 1024
    assert reading.sources["memory_used_bytes"] == "fdinfo"
    assert server.absent == {"utilization_ratio": Absence.NOT_COLLECTED}


def test_busy_ratios_from_fdinfo_cycles(composed: Composed) -> None:
    machine = composed("arc-b580")
    machine.read()
    path = machine.root / "proc/4100/fdinfo/3"
    text = path.read_text()
    later = text.replace("cycles-ccs:\t4100000000", "cycles-ccs:\t4900000000")
    later = later.replace("\t9000000000", "\t10000000000")
    path.write_text(later)
    machine.clock.advance(1.0)
    (reading,) = machine.read()
    assert reading.values["engine_utilization_ratio", "compute"] == pytest.approx(0.8)
    assert reading.values["engine_utilization_ratio", "copy"] == 0
    assert reading.values["utilization_ratio",] == pytest.approx(0.8)
    assert reading.sources["utilization_ratio"] == "fdinfo"
    server = next(process for process in reading.processes or () if process.pid == 4100)
    assert server.utilization_ratio == pytest.approx(0.8)
    assert server.absent == {}


def test_other_pid_namespaces_make_sums_unknown(composed: Composed) -> None:
    machine = composed("arc-b580")
    machine.tree.link("proc/self/ns/pid", "/pid:[4026532999]")
    machine.read()
    machine.clock.advance(1.0)
    (reading,) = machine.read()
    assert reading.absent["memory_used_bytes",] is Absence.PERMISSION
    assert "processes of other pid namespaces are not visible" in reading.notes
    assert reading.sources["utilization_ratio"] == "gtidle"


def test_processes_of_other_users_make_sums_unknown(
    composed: Composed, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = composed("arc-b580")
    really = os.scandir

    def scandir(path: Path) -> object:
        if path == machine.root / "proc/1500/fd":
            raise PermissionError(13, "Permission denied")
        return really(path)

    monkeypatch.setattr(os, "scandir", scandir)
    machine.read()
    machine.clock.advance(1.0)
    (reading,) = machine.read()
    assert reading.absent["memory_used_bytes",] is Absence.PERMISSION
    assert "fdinfo of 3 of 4 processes readable" in reading.notes
    assert [process.pid for process in reading.processes or ()] == [4100]
    assert reading.sources["utilization_ratio"] == "gtidle"
    assert not any(key == "engine_utilization_ratio" for key, *_ in reading.values)
