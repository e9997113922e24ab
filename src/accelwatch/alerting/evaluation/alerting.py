"""Notifications of the hub's incidents: the configured dispatcher, if any."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from accelwatch.alerting.delivery.approval_requests import ApprovalRequests, NoApprovalRequests
from accelwatch.alerting.incidents.journal.writer import JournalWriter
from accelwatch.alerting.incidents.model.incident import Incident
from accelwatch.base.clock import Clock
from accelwatch.config.alerts import Alerts

if TYPE_CHECKING:
    from accelwatch.alerting.delivery.dispatcher import Dispatcher
    from accelwatch.alerting.delivery.outbox import Outbox


class Alerting:
    """One dispatcher after another, as the settings change; what waits goes over to the next."""

    def __init__(
        self,
        settings: Alerts,
        clock: Clock,
        well: Callable[[], bool],
        muted: Callable[[Incident], object] = lambda _: None,
        end_wait: Callable[[str, float], float] = lambda _id, _least: 0.0,
    ) -> None:
        """`well`: whether a dead man's ping may be sent; `muted`: whether an incident is muted.

        `end_wait`: for how many seconds the end of an incident, by its id, waits until people are
        notified of it, where it has to stay over for so long as the settings say.
        """
        self._end_wait = end_wait
        self._settings = settings
        self._muted = muted
        # Requests for approval; to be set before it starts.
        self.approval_requests: ApprovalRequests = NoApprovalRequests()
        self._clock = clock
        self._well = well
        self._outbox: Outbox | None = None
        self._dispatcher: Dispatcher | None = None

    async def start(
        self, writer: JournalWriter | None, rows: Iterable[bytes], incidents: Iterable[Incident]
    ) -> None:
        """Begin to send, also what an earlier process could not. Raises ConfigError, PluginError."""
        from accelwatch.alerting.delivery.outbox import JournalOutbox, MemoryOutbox

        self._outbox = (
            MemoryOutbox() if writer is None else JournalOutbox(writer, self._clock, rows)
        )
        await self._replace_dispatcher(self._settings, incidents)

    async def _replace_dispatcher(self, settings: Alerts, incidents: Iterable[Incident]) -> None:
        """Replace the dispatcher; if the new one cannot be built, the old one stays."""
        made = None
        if settings.sinks or settings.dead_man.url_file:
            from accelwatch.alerting.delivery.dispatcher import Dispatcher

            assert self._outbox is not None
            made = Dispatcher(
                settings,
                self._outbox,
                self._clock,
                well=self._well,
                approval_requests=self.approval_requests,
                end_wait=lambda id_: self._end_wait(id_, settings.resolve_after_s),
            )
        await self.stop()
        self._settings, self._dispatcher = settings, made
        if made is not None:
            await made.start()
            self.on_changes(incidents)

    async def reload(self, settings: Alerts, incidents: Iterable[Incident]) -> None:
        """Other settings. Raises ConfigError, PluginError; then those before stay in force."""
        if settings != self._settings:
            await self._replace_dispatcher(settings, incidents)

    def on_changes(self, incidents: Iterable[Incident]) -> None:
        """Notify of incidents that have changed."""
        if self._dispatcher is not None:
            for incident in incidents:
                self._dispatcher.changed(incident, bool(self._muted(incident)))

    def call(self, incident: Incident) -> None:
        """Notify a person of what no stored incident is about, unless it is muted."""
        if self._dispatcher is not None and not self._muted(incident):
            self._dispatcher.call(incident)

    def own(self, incident: Incident) -> None:
        """Notify every sink of what is wrong with this process, as often as one likes."""
        if self._dispatcher is not None:
            self._dispatcher.changed(incident)

    async def stop(self) -> None:
        """Send no more, and write down what waits."""
        if self._dispatcher is not None:
            await self._dispatcher.close()
            self._dispatcher = None

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with sinks and outbox."""
        return () if self._dispatcher is None else self._dispatcher.problems
