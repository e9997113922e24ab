"""The collector that is begun before the command line is read."""

import os
import subprocess
import sys
from pathlib import Path

from node.sampler.fakes import FAKE
from support.machines.nvml_stand_ins import NvmlScenario

WANTS_NOTHING = """
import os, sys
from accelwatch.node.sampler import early
early.start()
pid, reports, orders, crash, _ = early.hand_over()
os.close(orders)
print(os.waitpid(pid, 0)[1])
"""
TWICE = """
from accelwatch.node.sampler import early
early.start()
first = early._child
early.start()
assert early._child is first
assert early.hand_over() is first
assert early.hand_over() is None
import os
os.close(first[2])
"""
LOADED = """
import sys
from accelwatch.node.sampler import early
early.load_shared()
shared = set(sys.modules)
{imports}
print(*sorted(set(sys.modules) - shared))
"""
ORDERED = """
import os
from accelwatch.node.sampler import early
early.start()
pid, reports, orders, crash, _ = early.hand_over()
from accelwatch.node.sampler.protocol.frames import ChecksumSplitter, decode, encode
from accelwatch.node.sampler.protocol.settings import StartOrder, CollectSettings
settings = CollectSettings(backends=("{backend}",), one_shot=True, timeout_s=300.0)
os.write(orders, encode(StartOrder(settings=settings)))
order = b""
while chunk := os.read(reports, 65536):
    order += chunk
print(os.waitpid(pid, 0)[1], type([*map(decode, ChecksumSplitter().feed(order))][-1]).__name__)
"""
DAMAGED = """
import os
from accelwatch.node.sampler import early
early.start()
pid, reports, orders, crash, _ = early.hand_over()
os.write(orders, b"\\0\\0\\0\\1\\xc1")
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), os.pread(crash, 4096, 0).decode())
"""
SILENT = """
import os, time
from accelwatch.node.sampler import early
early.start()
pid, reports, orders, crash, _ = early.hand_over()
links = []
for _ in range(3000):
    links = [os.readlink(f"/proc/{pid}/fd/{at}") for at in (0, 1, 2)]
    if set(links) == {"/dev/null"}:
        break
    time.sleep(0.02)
print(*links)
os.close(orders)
"""
OWNER = """
import accelwatch.cli.startup.entry, accelwatch.cli.node.snapshot, accelwatch.cli.node.documents
import accelwatch.node.sampler.one_shot, accelwatch.node.sampler.stores
accelwatch.cli.node.documents.load_renderer('json')
"""
COLLECTOR = "import accelwatch.node.sampler.child"
REPLACED = """
import sys
from accelwatch.node.sampler import early
early.load_shared()
print([name for name, module in sys.modules.items() if module is None])
"""


def output_of(program: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_a_child_that_gets_no_order_ends_by_itself() -> None:
    assert output_of(WANTS_NOTHING) == "0\n"


def test_there_is_only_one_and_it_is_taken_once() -> None:
    assert output_of(TWICE) == ""


def test_it_does_as_ordered() -> None:
    assert output_of(ORDERED.replace("{backend}", FAKE)) == "0 Done\n"


def test_a_failure_of_its_own_is_reported_with_its_end() -> None:
    output = output_of(DAMAGED)
    assert output.startswith("1 WireError: damaged order of 1 bytes: ")


STAYS = """
import os, time
from accelwatch.node.sampler import early
early.start(lasting=True)
assert early.hand_over() is None
pid, reports, orders, crash, printed = early.hand_over(lasting=True)
links = []
for _ in range(3000):
    links = [os.readlink(f"/proc/{pid}/fd/{at}").split(" ")[0] for at in (0, 1, 2)]
    if links[0] == "/dev/null" and links[1] == links[2]:
        break
    time.sleep(0.02)
print(*links)
os.close(orders)
print(os.waitpid(pid, 0)[1])
"""


def test_libraries_of_a_child_that_goes_on_print_to_a_bounded_file() -> None:
    printed = "/memfd:accelwatch-printed"
    assert output_of(STAYS) == f"/dev/null {printed} {printed}\n0\n"


def test_libraries_read_and_print_nowhere() -> None:
    assert output_of(SILENT) == "/dev/null /dev/null /dev/null\n"


def loaded_by(imports: str) -> set[str]:
    return set(output_of(LOADED.format(imports=imports)).split())


def test_what_owner_and_collector_need_is_loaded_before_the_fork() -> None:
    owner, collector = loaded_by(OWNER), loaded_by(COLLECTOR)
    assert "accelwatch.node.store.devices.row" in owner
    assert "accelwatch.node.sampler.collector" in collector
    assert owner & collector == set()


def test_no_module_is_hidden_from_who_imports_it() -> None:
    assert output_of(REPLACED) == "[]\n"


def test_a_mistake_on_the_command_line_leaves_no_process(tmp_path: Path) -> None:
    scenario = NvmlScenario.of(tmp_path / "s.scenario", "h100x8")
    scenario.write()
    run = subprocess.run(
        [sys.executable, "-m", "accelwatch", "--fields", "nonsense"],
        env={**os.environ, **scenario.environment()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout) == (2, "")


def test_a_child_that_died_before_its_order_is_replaced(tmp_path: Path) -> None:
    scenario = NvmlScenario.of(tmp_path / "s.scenario", "h100x8")
    scenario.write()
    program = (
        "import os, signal\n"
        "from accelwatch.node.sampler import early\n"
        "early.start()\n"
        "os.kill(early._child[0], signal.SIGKILL)\n"
        "os.waitpid(early._child[0], 0)\n"
        "from accelwatch.node.snapshots import CollectSettings, read_once\n"
        "shot = read_once(CollectSettings(backends=('nvidia',), timeout_s=300.0), isolation='fork')\n"
        "print(len(shot.devices), shot.devices[0].state)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **scenario.environment()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout == "8 ok\n", run.stderr
