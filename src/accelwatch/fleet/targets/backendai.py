"""Targets from a Backend.AI manager: its page for Prometheus' http_sd lists the agents of the cluster.

A node is called as Backend.AI calls its agent. The page (of the manager's internal address, without a
login) has an agent's address, name and version; only the manager's API has its resource group.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec

from accelwatch.base.errors import UsageError
from accelwatch.base.names.host_ranges import MAX_HOSTS
from accelwatch.base.untrusted_text import escaped
from accelwatch.fleet.scrape_settings import Credentials
from accelwatch.fleet.target import NODE_LABEL, Target
from accelwatch.fleet.targets.backendai_groups import GROUP_LABEL, ResourceGroups
from accelwatch.fleet.targets.groups import Group
from accelwatch.fleet.targets.http import HttpTargets, Listed
from accelwatch.fleet.targets.rules import Rules
from accelwatch.fleet.targets.settings import BackendAiSd, BackendAiServer, HttpSd
from accelwatch.fleet.targets.watch import Publish

PAGE = "/metrics/service_discovery"
_GROUP, _NAME = "service_group", "display_name"
# What the page says of every service; `service_id` (26.1) is another after each restart.
_OWN_LABELS = frozenset({_GROUP, _NAME, "service_id", "version"})
_AGENT = re.compile(r"agent-(.+)")
# The address of an agent whose configuration has no `announce-addr`: the same for all of them.
_UNSET_HOST = "host.docker.internal"
# One machine, and no range of hosts; the page is another program's.
_ADDRESS = re.compile(r"(?:[\w.-]+|\[[0-9a-fA-F:.]+(?:%[\w.-]+)?\]):[0-9]{1,5}", re.ASCII)
_MAX_NAMED = 3
# Characters of a name or an address in a message.
_MAX_SHOWN = 80


class BackendAiTargets:
    """Polls one manager."""

    def __init__(self, settings: BackendAiSd, rules: Rules) -> None:
        """Raises UsageError for a URL that makes no sense, ConfigError for access that does not fit."""
        self._settings = settings
        # Our own agents are shown what is configured; Backend.AI's pages are open and need nothing.
        self._agents = rules
        self._pages = msgspec.structs.replace(
            rules, scheme=settings.platform_scheme, credentials=Credentials()
        )
        self._http = HttpTargets(http_settings(settings), rules, read=self._targets)
        self.kept = self._http.kept
        self._groups = (
            None
            if settings.server == BackendAiServer()
            else ResourceGroups(settings.server, settings.refresh_s, self.kept)
        )

    async def run(self, publish: Publish) -> None:
        """Poll until cancelled."""
        if self._groups is None:
            await self._http.run(publish)
            return
        is_first_over = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._groups.run(is_first_over))
            # The first list has the label already: with it, a node begins in its group.
            await is_first_over.wait()
            await self._http.run(publish)

    def _targets(self, document: object) -> Listed:
        agents = agents_in(document)
        unusable = shared_addresses(agents)
        targets: list[Target] = []
        for agent in agents:
            if agent.page not in unusable:
                targets += self._targets_of(agent)
        return Listed(targets, explanation(unusable))

    def _targets_of(self, agent: "Agent") -> list[Target]:
        group = "" if self._groups is None else self._groups.by_agent.get(agent.name, "")
        by_group = {GROUP_LABEL: group} if group else {}
        labels = {**self._settings.labels, **by_group, **agent.labels, NODE_LABEL: agent.name}
        targets: list[Target] = []
        if self._settings.platform:
            targets += self._pages.targets([agent.address], labels)
        if self._settings.agent_port is not None:
            host = agent.address.rpartition(":")[0]
            # Labels such as `__metrics_path__` are about the other page.
            plain = {name: text for name, text in labels.items() if not name.startswith("__")}
            targets += self._agents.targets([f"{host}:{self._settings.agent_port}"], plain)
        return targets


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent of the page."""

    name: str
    # Host and port, an IPv6 address in brackets.
    address: str
    # Labels of the site.
    labels: dict[str, str] = {}

    @property
    def page(self) -> str:
        """Where its page is."""
        return self.address + self.labels.get("__metrics_path__", "")


def http_settings(settings: BackendAiSd) -> HttpSd:
    """The requests to the manager: to its page where the URL names none."""
    return HttpSd(
        url=_page(settings.url),
        refresh_s=settings.refresh_s,
        timeout_s=settings.timeout_s,
        body_size_limit_bytes=settings.body_size_limit_bytes,
        basic_auth=settings.basic_auth,
        authorization=settings.authorization,
        tls_config=settings.tls_config,
    )


def _page(url: str) -> str:
    try:
        components = urlsplit(url)
    except ValueError:  # the check of the URL says what is wrong
        return url
    if not components.netloc or components.path not in ("", "/"):
        return url
    return components._replace(path=PAGE).geturl()


def agents_in(document: object) -> list[Agent]:
    """The agents of the page, each address of each once, and no other service. Raises UsageError."""
    try:
        groups = msgspec.convert(document, tuple[Group, ...])
    except msgspec.ValidationError as error:
        raise UsageError(f"no list of targets and labels: {error}") from error
    agents: dict[tuple[str, str], Agent] = {}
    for group in groups:
        match = _AGENT.fullmatch(group.labels.get(_NAME, ""))
        if group.labels.get(_GROUP) != "agent" or match is None:
            continue
        labels = {name: text for name, text in group.labels.items() if name not in _OWN_LABELS}
        for address in group.targets:
            # 26.1 lists every worker of an agent.
            agent = Agent(name=match[1], address=_checked(address), labels=labels)
            agents.setdefault((agent.name, agent.address), agent)
        if len(agents) > MAX_HOSTS:
            raise UsageError(f"more than {MAX_HOSTS} agents")
    return list(agents.values())


def _checked(text: str) -> str:
    """Host and port, an IPv6 address in the brackets that the page does not have. Raises UsageError."""
    host, _, port = text.rpartition(":")
    address = f"[{host}]:{port}" if ":" in host and not host.startswith("[") else text
    if not _ADDRESS.fullmatch(address):
        raise UsageError(f"{text[:_MAX_SHOWN]!r} is not the address of an agent, host:port")
    return address


def shared_addresses(agents: Sequence[Agent]) -> dict[str, list[str]]:
    """Addresses under which the page of one agent may be that of another, with the agents' names."""
    counted = Counter(agent.page for agent in agents)
    names: dict[str, list[str]] = {}
    for agent in agents:
        host = agent.address.rpartition(":")[0]
        if counted[agent.page] > 1 or host == _UNSET_HOST:
            names.setdefault(agent.page, []).append(agent.name)
    return names


def explanation(unusable: dict[str, list[str]]) -> str:
    """Which agents are not followed, and what to do; empty where all are."""
    if not unusable:
        return ""
    names = sorted({name for some in unusable.values() for name in some})
    shown = _listed(names)
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return (
        f"agents {shown}{more} announce an address that is not theirs alone "
        f"({_listed(sorted(unusable))}) and are not followed: set announce-addr "
        "in each agent.toml; 26.9 lists only one of the agents of an address"
    )


def _listed(texts: Sequence[str]) -> str:
    """The first few, each short and printable."""
    return ", ".join(escaped(text[:_MAX_SHOWN]) for text in texts[:_MAX_NAMED])
