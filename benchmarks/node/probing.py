"""What it costs that every backend is installed: `probing.py [--other CHECKOUT] [--runs N]`.

Probing: how long a fresh process needs, with what it imports for it, until it knows what of a machine
without any vendor is worth opening; and how long when every vendor's backend is imported and asked to
look. The two backends that are no vendor's, of the host and the kernel's log, are not counted.
With --other, `--version` and a one-shot on a machine of eight NVIDIA devices (the stand-in library) are
timed in turn with those of another checkout, which has a virtual environment of its own in `.venv`.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from harness.node import Node, accelwatch
from harness.timing import in_turn

LIMIT_S = 0.015
_PROBE = """
import sys, time
from pathlib import Path
from accelwatch.node.sampler import load
from accelwatch.node.sampler.protocol.settings import CollectSettings
from accelwatch.backend import Context
from accelwatch.base.clock import SystemClock
root, everything = sys.argv[1], sys.argv[2] == "everything"
settings = CollectSettings(root=root)
context = Context(root=Path(root), clock=SystemClock())
began = time.perf_counter()
left_out = {} if everything else load.absent(settings)
ours = ("host", "kernel_log")
asked = [name for name in load.resolve(settings) if name not in left_out and name not in ours]
there = [n for n in asked if load.resolve(settings)[n]()(context).probe().present]
print(time.perf_counter() - began, len(left_out), ",".join(asked), ",".join(there))
"""


def without_vendor(folder: Path) -> Path:
    """A machine with two functions on its PCI bus, none of an accelerator."""
    lines = []
    for at, (vendor, code) in enumerate((("8086", "060000"), ("1af4", "020000"))):
        function = folder / f"sys/bus/pci/devices/0000:00:0{at}.0"
        function.mkdir(parents=True)
        (function / "vendor").write_text(f"0x{vendor}\n")
        (function / "class").write_text(f"0x{code}\n")
        lines.append(f"00{at << 3:02x}\t{vendor}1000\t0" + "\t0" * 14 + "\tvirtio-pci\n")
    (folder / "proc/bus/pci").mkdir(parents=True)
    (folder / "proc/bus/pci/devices").write_text("".join(lines))
    (folder / "dev").mkdir()
    return folder


def probing(runs: int) -> dict[str, object]:
    """Seconds in fresh processes."""
    figures: dict[str, object] = {"must_s": LIMIT_S}
    with tempfile.TemporaryDirectory(prefix="accelwatch-bench-") as made:
        root = without_vendor(Path(made))
        for which in ("by marks", "everything"):
            lines = [_probe(root, which).split(" ") for _ in range(runs + 1)][1:]
            times = [float(line[0]) for line in lines]
            figures[which] = {
                "median_s": round(statistics.median(times), 4),
                "max_s": round(max(times), 4),
                "left_out_unasked": int(lines[0][1]),
                "asked": lines[0][2].split(","),
                "present": [name for name in lines[0][3].strip().split(",") if name],
            }
    return figures


def _probe(root: Path, which: str) -> str:
    words = [sys.executable, "-c", _PROBE, str(root), which]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def beside(checkout: Path, runs: int) -> dict[str, object]:
    """Commands of this checkout and of another, in turn."""
    node = Node()
    other = str(checkout / ".venv/bin/accelwatch")
    commands = {
        "--version": accelwatch("--version"),
        "--version, other": [other, "--version"],
        "--json": accelwatch("--json"),
        "--json, other": [other, "--json"],
    }
    try:
        return dict(in_turn(commands, node.environ(), runs))
    finally:
        node.close()


def main() -> None:
    """Print the figures as one document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--other", type=Path)
    parser.add_argument("--runs", type=int, default=21)
    args = parser.parse_args()
    document = {"probing": probing(args.runs)}
    if args.other:
        document["beside"] = beside(args.other.resolve(), args.runs)
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
