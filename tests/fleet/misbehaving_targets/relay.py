"""A way between two network namespaces that loses and delays packets: TUN devices, a queue, a dice.

`relay.py WORDS...` runs in the hub's namespace; WORDS run a command in the other. Rules are lines of
JSON on standard input. What netem does in the kernel, for kernels that are built without it.
"""

import fcntl
import heapq
import itertools
import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time

_TUNSETIFF = 0x400454CA  # linux/if_tun.h
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_DEVICE = b"way"
_LARGEST = 65536


def open_device() -> int:
    """The TUN device of this namespace."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH14x", _DEVICE, _IFF_TUN | _IFF_NO_PI))
    return device


def open_there(words: list[str]) -> int:
    """The TUN device of the other namespace, opened there and handed over."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        give = [*words, sys.executable, __file__, "--give", str(theirs.fileno())]
        subprocess.run(give, pass_fds=[theirs.fileno()], check=True, timeout=30)
        _, devices, _, _ = socket.recv_fds(ours, 1, 1)
    os.set_blocking(devices[0], False)
    return int(devices[0])


def carry(hub: int, nodes: int) -> None:
    """Pass packets on until standard input ends."""
    rule = {"loss_out": 0.0, "loss_back": 0.0, "delay_s": 0.0}
    dice, count = random.Random(7), itertools.count()
    waiting: list[tuple[float, int, int, bytes]] = []
    ways = {hub: (nodes, "loss_out"), nodes: (hub, "loss_back")}
    while True:
        pause = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        readable, _, _ = select.select([*ways, sys.stdin], [], [], pause)
        if sys.stdin in readable:
            line = sys.stdin.readline()
            if not line:
                return
            rule.update(json.loads(line))
            print("set", flush=True)
        for device in ways.keys() & set(readable):
            packet = os.read(device, _LARGEST)
            to, loss = ways[device]
            if dice.random() >= rule[loss]:
                due = time.monotonic() + rule["delay_s"]
                heapq.heappush(waiting, (due, next(count), to, packet))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, to, packet = heapq.heappop(waiting)
            try:
                os.write(to, packet)
            except OSError:
                continue  # the device is not up, or its queue is full: the packet is lost


def main() -> None:
    """Give a device away, or carry between two."""
    if sys.argv[1] == "--give":
        with socket.socket(fileno=int(sys.argv[2])) as way:
            socket.send_fds(way, [b"x"], [open_device()])
        return
    hub, nodes = open_device(), open_there(sys.argv[1:])
    print("ready", flush=True)
    carry(hub, nodes)


if __name__ == "__main__":
    main()
