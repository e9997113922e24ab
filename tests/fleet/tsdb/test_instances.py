"""How `instance` names a node, where that is wanted."""

import pytest

from accelwatch.fleet.tsdb.origin import SeriesResolver
from accelwatch.fleet.tsdb.settings import Store


@pytest.mark.parametrize(
    ("instance", "node"),
    [
        ("gpu7:9400", "gpu7"),
        ("[fe80::7]:9400", "fe80::7"),
        ("127.0.0.1:9400", "127.0.0.1:9400"),
        ("[::1]:9400", "[::1]:9400"),
        ("gpu7", "gpu7"),
        ("gpu7:metrics", "gpu7:metrics"),
        ("fe80::7", "fe80::7"),
        ("::1", "::1"),
        ("http://gpu7:9400", "http://gpu7:9400"),
        ("gpu7:99999", "gpu7"),
    ],
)
def test_an_instance_is_a_host_with_or_without_a_port(instance: str, node: str) -> None:
    placing = SeriesResolver(Store(url="http://store", instance_as_node=True))
    transport = placing.transport({"job": "dcgm", "instance": instance})
    assert placing.by_instance(transport) == node
