"""Servers over pages that return the request they got."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from web.echo_site import EchoSite


@pytest.fixture
def open_site() -> Iterator[Callable[..., EchoSite]]:
    """Starts servers; all are stopped after the test."""
    opened: list[EchoSite] = []

    def _open(**settings: Any) -> EchoSite:
        opened.append(EchoSite(**settings))
        return opened[-1]

    yield _open
    for one in opened:
        one.stop()


@pytest.fixture
def site(open_site: Callable[..., EchoSite]) -> EchoSite:
    return open_site()
