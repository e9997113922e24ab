"""The hub beside that of another checkout: `hub_beside.py CHECKOUT [--nodes N] [--add YAML]`.

Both follow the same nodes by stream at the same time on one core, without instruments, so that whatever
else runs on the machine befalls both alike. CHECKOUT has a virtual environment of its own in `.venv`.
"""

import argparse
import contextlib
import json
import tempfile
import time
from pathlib import Path
from sys import executable

from hub import Plan, load_words, targets
from hub_processes import HERE, HUB_CORE, LOAD_CORE, PORT, Use, ask, running, share, table, use

# What lives long is set aside after a minute.
SETTLE_S = 80


def hub_of(checkout: Path, folder: Path, listed: Path, port: int, added: str) -> list[str]:
    """The words of a hub of a checkout, with a state folder and a configuration of its own."""
    state = folder / f"state-{port}"
    state.mkdir()
    config = folder / f"hub-{port}.yaml"
    config.write_text(f"log: {{level: error}}\n{added}\n")
    return [
        *(str(checkout / ".venv/bin/python"), "-m", "accelwatch", "hub"),
        *("-c", str(config), "--targets-file", str(listed)),
        *("--web.listen-address", f"127.0.0.1:{port}", "--state-dir", str(state)),
    ]


def wait_for(count: int, port: int) -> None:
    """Until a hub sees all nodes. Raises RuntimeError."""
    deadline = time.monotonic() + max(90, count / 20)
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if json.loads(ask("/v1/fleet", port)[1])["nodes"]["up"] >= count:
                return
        time.sleep(0.5)
    raise RuntimeError(f"the hub on port {port} does not see every node")


def rows(before: list[Use], after: list[Use]) -> list[tuple[str, str, str]]:
    """This one and the other, and how they compare."""
    ours, theirs = [share(*pair) for pair in zip(before, after, strict=True)]
    mib = [one.rss_mib for one in after]
    return [
        ("CPU, of one core", f"{ours:.2f} / {theirs:.2f} %: {ours / theirs:.3f}x", "0.95-1.05x"),
        ("memory", f"{mib[0]:.1f} / {mib[1]:.1f} MiB: {mib[0] / mib[1]:.3f}x", "0.95-1.05x"),
    ]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--nodes", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--add", default="", help="in the configuration of this checkout's hub")
    given = parser.parse_args()
    plan = Plan(given.nodes, 1.0, given.seconds, poll=False)
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        stack.enter_context(running(load_words(plan, folder), LOAD_CORE))
        listed = targets(plan, folder)
        # This environment's own Python: `executable` is in `.venv/bin` of this checkout.
        checkouts = (Path(executable).parents[2], given.checkout)
        words = [
            hub_of(one, folder, listed, PORT + at, "" if at else given.add)
            for at, one in enumerate(checkouts)
        ]
        hubs = [stack.enter_context(running(one, HUB_CORE)) for one in words]
        for at in range(len(hubs)):
            wait_for(given.nodes, PORT + at)
        time.sleep(SETTLE_S)
        before = [use(one.pid) for one in hubs]
        time.sleep(given.seconds)
        after = [use(one.pid) for one in hubs]
    title = f"{given.nodes} nodes by stream every second, {given.seconds:g} s"
    title += f": {HERE.parents[1].name} {given.add} / {given.checkout.name}"
    print(table(title, rows(before, after)))


if __name__ == "__main__":
    main()
