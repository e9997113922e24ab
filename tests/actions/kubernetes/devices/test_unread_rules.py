"""A list of rules that cannot be read."""

import asyncio
from typing import Any

import msgspec
import pytest

from accelwatch.action.contract import ActionContext, ActionUnavailableError
from accelwatch.api_client.kubernetes.versions import ServedVersions
from accelwatch_kubernetes.readings.devices import rules_by_node
from accelwatch_kubernetes.settings.options import DeviceOptions, KubernetesOptions

GROUP = "/apis/resource.k8s.io"
ANSWERS = {
    GROUP: b'{"versions": [{"version": "v1"}]}',
    f"{GROUP}/v1": b'{"resources": [{"name": "devicetaintrules"}]}',
}


class Client:
    """Serves rules, and answers a list of them with something else."""

    async def get(self, path: str, _query: Any = None) -> bytes:
        return ANSWERS.get(path, b"<html>welcome</html>")


class Access(msgspec.Struct):
    """As much of the action's as the reading uses."""

    client: Any
    versions: Any
    options: KubernetesOptions


def test_what_is_no_list_of_rules_is_no_word_that_no_device_is_out() -> None:
    client: Any = Client()
    clock = ActionContext(name="cluster").clock
    options = KubernetesOptions(devices=DeviceOptions())
    access: Any = Access(client, ServedVersions(client, clock), options)
    with pytest.raises(ActionUnavailableError):
        asyncio.run(rules_by_node(access))
