"""Processes with odd names, and files of /proc that vanish, are empty or hold nonsense."""

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelwatch.schema.reading import Process
from accelwatch.system.kernel import proc
from accelwatch_json import JsonExporter
from accelwatch_prometheus import PrometheusExporter
from support.machines.composed import snapshot, view


def process(root: Path, pid: int, comm: bytes, **files: bytes) -> None:
    folder = root / "proc" / str(pid)
    folder.mkdir(parents=True)
    (folder / "comm").write_bytes(comm + b"\n")
    stat = b"%d (%s) S %s" % (pid, comm, b" ".join([b"0"] * 18 + [b"500"] + [b"0"] * 20))
    for name, content in {"stat": stat, **files}.items():
        (folder / name).write_bytes(content)


NAMES = (b"train\xff\xfe", b"a) S 1 (b", b'"quoted"\\', b"two\nlines", b"")


@pytest.mark.parametrize("name", NAMES)
def test_any_name_is_read_and_can_be_exported(tmp_path: Path, name: bytes) -> None:
    process(tmp_path, 7, name)
    facts = proc.facts(tmp_path, 7)
    assert facts is not None
    assert facts.command == name.decode("utf-8", "replace")
    assert facts.start_time == 5.0
    one = Process(device_id="nvidia:GPU-0", pid=7, command=facts.command)
    reading = msgspec.structs.replace(view(0).reading, processes=(one,))
    shot = snapshot(msgspec.structs.replace(view(0), reading=reading))
    document = json.loads(JsonExporter().render(shot, {}))
    assert document["processes"][0]["command"] == (facts.command or None)
    text = PrometheusExporter().render(shot, {"groups": frozenset({"processes"})})
    assert text.decode().count("\naccel_device_up{") == 1


def test_a_process_that_is_gone_is_none(tmp_path: Path) -> None:
    assert proc.facts(tmp_path, 7) is None
    assert proc.start_time(tmp_path, 7) is None
    assert proc.argv(tmp_path, 7) is None
    assert proc.pids(tmp_path) == []


def test_arguments_are_replaced_where_they_are_no_text(tmp_path: Path) -> None:
    process(tmp_path, 7, b"x", cmdline=b"python3\0\xff\0\0last\0")
    assert proc.argv(tmp_path, 7) == ("python3", "�", "", "last")


@given(stat=st.binary(max_size=80), status=st.binary(max_size=80), cgroup=st.binary(max_size=120))
def test_any_content_gives_facts_without_an_exception(
    tmp_path_factory: pytest.TempPathFactory, stat: bytes, status: bytes, cgroup: bytes
) -> None:
    root = tmp_path_factory.mktemp("root")
    process(root, 7, b"x", stat=stat, status=status, cgroup=cgroup)
    facts = proc.facts(root, 7)
    assert facts is not None
    assert facts.command == "x"
    assert facts.uid is None or facts.uid >= 0
