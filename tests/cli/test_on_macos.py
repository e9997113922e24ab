"""The command on a system that has neither /proc nor what only Linux' libc knows.

Played on Linux, with both taken away: what is left out here may still be missing on a Mac.
"""

import subprocess
import sys
from pathlib import Path

from backends.apple.machines import M1_MACMON, lay_out

WITHOUT_LINUX = """
import fcntl, os, signal, socket, sys, time

ONLY_LINUX = {
    os: ("memfd_create", "pidfd_open", "eventfd", "sched_getaffinity", "posix_fadvise", "pipe2"),
    signal: ("pidfd_send_signal", "SIGRTMIN", "sigtimedwait", "sigwaitinfo"),
    socket: ("SO_PEERCRED", "TCP_KEEPIDLE", "AF_NETLINK", "SOCK_CLOEXEC"),
    fcntl: ("F_SETPIPE_SZ", "F_ADD_SEALS"),
    time: ("CLOCK_BOOTTIME",),
}
for module, names in ONLY_LINUX.items():
    for name in names:
        if hasattr(module, name):
            delattr(module, name)

def no_proc(event, arguments):
    path = arguments[0] if event in ("open", "os.listdir", "os.scandir") else ""
    if isinstance(path, (str, os.PathLike)) and os.fspath(path).startswith(("/proc/", "/sys/")):
        raise FileNotFoundError(2, "No such file or directory", path)

sys.addaudithook(no_proc)
sys.platform = "darwin"
os.uname = lambda: os.uname_result(("Darwin", "mac", "24.6.0", "Darwin", "arm64"))
sys.argv = ["accelwatch", *sys.argv[1:]]
from accelwatch.cli.startup.main import main
main()
"""


def test_a_mac_shows_its_gpu(tmp_path: Path) -> None:
    lay_out(tmp_path, M1_MACMON)
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_LINUX, "--root", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stderr == ""
    assert run.returncode == 0
    assert "apple0  Apple M1 Max" in run.stdout
    assert "WindowServer" in run.stdout
