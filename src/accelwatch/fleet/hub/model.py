"""Every setting of the hub (hub.yaml); docs/fleet/hub.md explains them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path as FilePath
from typing import Annotated

import msgspec
from msgspec import Meta, field

from accelwatch.base.default_addresses import HUB_ADDRESS
from accelwatch.base.errors import ConfigError, UsageError
from accelwatch.config.alerts import Alerts
from accelwatch.config.field_types import Long, Path, Short
from accelwatch.config.journal import JournalSettings
from accelwatch.config.journal import mistakes as mistakes_of_journal
from accelwatch.config.layers import Effective, Flag, values_of_flags
from accelwatch.config.model import Log, RuleSettings, Web
from accelwatch.config.otlp import Otlp
from accelwatch.config.otlp import mistakes as mistakes_of_otlp
from accelwatch.config.reader import Reader, Values, build, source_of, sources_by_key
from accelwatch.config.usage import UsageSettings
from accelwatch.expr.vocabulary.detector_names import DETECTOR
from accelwatch.fleet.archive.settings import History, check_history
from accelwatch.fleet.dialects.base.precedence import precedence
from accelwatch.fleet.evidence_settings import Evidence
from accelwatch.fleet.follow.access import check_access
from accelwatch.fleet.scrape_settings import REFUSED, Scrape
from accelwatch.fleet.ssh.settings import Ssh
from accelwatch.fleet.state.nodes.liveness import Thresholds
from accelwatch.fleet.targets.checks import Mistake, mistakes, refused_keys
from accelwatch.fleet.targets.settings import Targets
from accelwatch.fleet.tsdb.settings import REFUSED as REFUSED_OF_PEERS
from accelwatch.fleet.tsdb.settings import Federation, RemoteWrite, Store, check_peers
from accelwatch.remediation import settings as remedies
from accelwatch.system.located_yaml.complaint import Complaint, refuse

# Settings of `web` whose defaults are not an agent's; more connections than streams: room for queries.
_OWN_WEB = ("listen_address", "stream_max_clients", "max_connections")


_NEVER_EMPTY = {
    "remedy.domains": "nodes that are lost together could be drained together: name a label",
    "remedy.no_auto_label": "no node could be kept from remedies: name a label",
}


class State(msgspec.Struct, frozen=True, kw_only=True):
    """From which age a node counts as what."""

    slow_s: Annotated[float, Meta(ge=1, le=600, extra={"form": "duration"})] = field(
        default=2.5, name="slow_after"
    )
    stale_s: Long = field(default=10.0, name="stale_after")
    down_s: Long = field(default=30.0, name="down_after")


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """Whom to believe when several exporters report one device."""

    # Dialects after ours, best first; those left out follow in their usual order.
    precedence: tuple[str, ...] = ()


class DetectorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Whether all signals are evaluated together, which rules about findings need."""

    enabled: bool = True


class HubSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The whole configuration of a hub."""

    targets: Targets = Targets()
    scrape: Scrape = Scrape()
    ssh: Ssh = Ssh()
    state: State = State()
    merge: Merge = Merge()
    prometheus: Store = Store()
    remote_write: RemoteWrite = RemoteWrite()
    otlp: Otlp = Otlp()
    federation: Federation = Federation()
    rules: RuleSettings = RuleSettings()
    detector: DetectorSettings = DetectorSettings()
    alerts: Alerts = Alerts()
    evidence: Evidence = Evidence()
    remedy: remedies.RemedySettings = remedies.RemedySettings()
    history: History = History()
    usage: UsageSettings = UsageSettings()
    web: Web = Web(listen_address=(HUB_ADDRESS,), stream_max_clients=512, max_connections=1024)
    log: Log = Log()
    journal: JournalSettings = JournalSettings()
    state_dir: Path | None = None
    # How often the hub's own stream sends a tick.
    stream_interval_s: Short = field(default=1.0, name="stream_interval")

    @property
    def rules_in_force(self) -> RuleSettings:
        """`rules`, and where there are any the pack about what the detector finds."""
        if not (self.rules.any and self.detector.enabled) or DETECTOR in self.rules.packs:
            return self.rules
        return msgspec.structs.replace(self.rules, packs=(*self.rules.packs, DETECTOR))

    @property
    def thresholds(self) -> Thresholds:
        """The ages of `state`."""
        return Thresholds(
            slow_s=self.state.slow_s, stale_s=self.state.stale_s, down_s=self.state.down_s
        )


class UnfitSettingsError(ConfigError):
    """Settings that could be read and do not fit together, or whose rules cannot be loaded."""

    def __init__(self, text: str, settings: HubSettings) -> None:
        """`settings` say whom to notify of it."""
        super().__init__(text)
        self.settings = settings


def load_settings(path: FilePath | None, flags: Mapping[str, Flag] | None = None) -> HubSettings:
    """The settings of a file, or the defaults, with flags by dotted key laid over them.

    Raises ConfigError with every mistake and its line or flag.
    """
    return effective(path, flags).settings


def effective(
    path: FilePath | None, flags: Mapping[str, Flag] | None = None
) -> Effective[HubSettings]:
    """The same with the source of each value. Raises ConfigError."""
    values: Values = {}
    complaints: list[Complaint] = []
    if path is not None:
        refused = {**REFUSED, **REFUSED_OF_PEERS, **refused_keys()}
        values, complaints = Reader(HubSettings, refused, _NEVER_EMPTY).read(path)
    filled = bool(values)
    from_flags, mistaken = values_of_flags(flags or {}, HubSettings)
    refuse([*complaints, *mistaken])
    values.update(from_flags)
    settings: HubSettings = build(HubSettings, values)
    defaults = HubSettings().web
    ours = {key: getattr(defaults, key) for key in _OWN_WEB if f"web.{key}" not in values}
    web = msgspec.structs.replace(settings.web, **ours)
    complete, written = msgspec.structs.replace(settings, web=web), sources_by_key(values)
    try:
        fitting = checked(complete, lambda key: source_of(written, key, path))
    except ConfigError as error:
        raise UnfitSettingsError(str(error), complete) from None
    return Effective(
        settings=fitting,
        file=path,
        sources=written,
        filled=filled,
    )


def checked(
    settings: HubSettings, origin_of: Callable[[str], str] = lambda _key: ""
) -> HubSettings:
    """The settings, if they fit together; `origin_of` returns where a key was set. Raises
    ConfigError.
    """
    refuse(Complaint(origin_of(key), key, text) for key, text in mistakes_in(settings))
    return settings


def mistakes_in(settings: HubSettings) -> Iterator[Mistake]:
    """What does not fit together, with its key."""
    checks: tuple[Callable[[], None], ...] = (
        partial(check_access, settings.scrape),
        partial(check_peers, settings.prometheus, settings.remote_write),
        partial(check_history, settings.history),
    )
    for check in checks:
        try:
            check()
        except ConfigError as error:
            key, _, text = str(error).partition(": ")
            yield key, text
    yield from _mistakes_of_rules(settings.rules)
    yield from mistakes(settings.targets, settings.scrape)
    yield from _of_hubs(settings)
    if settings.alerts != Alerts():
        from accelwatch.alerting.delivery import sinks

        for key, text in sinks.mistakes(settings.alerts):
            yield f"alerts.{key}", text
    yield from _of_evidence(settings.evidence, settings.remedy.actions)
    for key, text in mistakes_of_otlp(settings.otlp):
        yield f"otlp.{key}", text
    for key, text in mistakes_of_journal(settings.journal):
        yield f"journal.{key}", text
    for key, text in _of_remedies(settings.remedy):
        yield f"remedy.{key}", text
    yield from _of_links(settings)
    state = settings.state
    if not state.slow_s < state.stale_s < state.down_s:
        yield "state", "slow_after, stale_after and down_after grow in this order"
    try:
        precedence(settings.merge.precedence)
    except UsageError as error:
        yield "merge.precedence", str(error)


def _of_hubs(settings: HubSettings) -> Iterator[Mistake]:
    if settings.targets.hubs:
        from accelwatch.fleet.targets import hubs

        yield from hubs.mistakes_of_hubs(settings.targets)
        yield from hubs.mistakes_beside_hubs(settings, HubSettings(), settings.targets)


def _of_links(settings: HubSettings) -> Iterator[Mistake]:
    names = [sink.name for sink in settings.alerts.sinks]
    for name in settings.remedy.links.sinks:
        if name not in names:
            existing = f"there are {', '.join(names)}" if names else "alerts.sinks has none"
            yield "remedy.links.sinks", f"no sink is called {name!r}; {existing}"
    url = settings.alerts.external_url
    if settings.remedy.links.sinks and not url.startswith(("https://", "http://")):
        text = "links need alerts.external_url, such as https://hub.example.org"
        yield "remedy.links.sinks", text


def _of_evidence(
    settings: Evidence, actions: Sequence[remedies.ActionSettings]
) -> Iterator[Mistake]:
    if settings.kubernetes or settings.slurm:
        from accelwatch.fleet.evidence import checks

        # Keys of taints are options of a plug-in; whatever is called so is set by us.
        keys = [action.options.get(key) for action in actions for key in ("taint", "spare_taint")]
        own_taints = [key for key in keys if isinstance(key, str)]
        for key, text in checks.mistakes(settings, own_taints):
            yield f"evidence.{key}", text


def _of_remedies(settings: remedies.RemedySettings) -> Iterator[Mistake]:
    yield from remedies.configuration_errors(settings)
    if settings.actions:
        from accelwatch.remediation import actions

        yield from actions.configuration_errors(settings)


def _mistakes_of_rules(settings: RuleSettings) -> Iterator[Mistake]:
    if settings.any:
        from accelwatch.alerting.rules.loading.configured import loaded_rules

        try:
            loaded_rules(settings)
        except ConfigError as error:
            yield "rules", str(error)
