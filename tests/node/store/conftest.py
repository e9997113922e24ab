"""A store that has heard of one device and one reading of it."""

import pytest

from node.store.reporting import Node, device, power


@pytest.fixture
def node() -> Node:
    node = Node()
    node.slots(device(0))
    node.identified("n:0", device(0, uuid="GPU-0", model="H100"))
    node.read("n:0", power())
    return node
