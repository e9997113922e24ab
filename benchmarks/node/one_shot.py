"""Cold one-shot figures: beside nvitop and gpustat, over device counts, and with a hung device."""

import json
import sys

from harness.node import Node, accelwatch, peer
from harness.timing import in_turn, once

RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 11

PEERS_ONCE = {"nvitop -1": peer("nvitop", "-1"), "gpustat --json": peer("gpustat", "--json")}


def cold() -> dict[str, object]:
    """`accelwatch --json` beside the peers' one-shot forms; `--version` beside nvitop's."""
    node = Node()
    try:
        commands = {
            "accelwatch --json": accelwatch("--json"),
            **PEERS_ONCE,
            "accelwatch --version": accelwatch("--version"),
            "nvitop --version": peer("nvitop", "--version"),
        }
        present = {name: words for name, words in commands.items() if words}
        return dict(in_turn(present, node.environ(), RUNS))
    finally:
        node.close()


def by_device_count() -> dict[str, object]:
    """Wall time with 1, 8 and 16 devices when every call takes 1 ms."""
    figures: dict[str, dict[str, float]] = {}
    for count in (1, 8, 16):
        node = Node(devices=count)
        node.scenario.fault("*", "delay_ms:1", device="*")
        node.scenario.write()
        try:
            words = {"accelwatch --json": accelwatch("--json", "--timeout", "10s")}
            figures[str(count)] = in_turn(words, node.environ(), RUNS)["accelwatch --json"]
        finally:
            node.close()
    ratio = figures["16"]["median_s"] / figures["1"]["median_s"]
    return {**figures, "ratio_16_to_1": round(ratio, 3)}


def one_hung() -> dict[str, object]:
    """One of eight devices hangs for ever: what each tool prints, and after how long."""
    node = Node()
    node.scenario.fault("*", "hang", device=3)
    node.scenario.write()
    try:
        mine = once(accelwatch("--json", "--timeout", "2s"), node.environ())
        devices = json.loads(mine.output)["devices"]
        full = [item for item in devices if item["state"] == "ok" and item["power_watts"]]
        figures: dict[str, object] = {
            "accelwatch --json --timeout 2s": {
                "wall_s": mine.wall_s,
                "rows": len(devices),
                "full_rows": len(full),
                "hung_state": devices[3]["state"],
            }
        }
        for name, words in (
            ("nvitop -1", peer("nvitop", "-1")),
            ("gpustat --json", peer("gpustat", "--json")),
        ):
            if words:
                theirs = once(words, node.environ(), timeout_s=10)
                figures[name] = {
                    "wall_s": theirs.wall_s,
                    "bytes_printed": len(theirs.output),
                    "ended": theirs.status is not None,
                }
        return figures
    finally:
        node.close()


if __name__ == "__main__":
    document = {"cold": cold(), "by_device_count": by_device_count(), "one_hung": one_hung()}
    print(json.dumps(document, indent=2))
