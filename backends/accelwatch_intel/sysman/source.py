"""When Sysman is started, and the Sysman side of each card. Starting it opens every render node."""

from collections.abc import Sequence
from threading import Lock

from accelwatch.backend import Context
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.base.errors import ReadError
from accelwatch.schema.device import DeviceKind
from accelwatch_intel import loader
from accelwatch_intel.card import GPU_DRIVERS, Card
from accelwatch_intel.sysman.calls import Sysman, load_library
from accelwatch_intel.sysman.device import SysmanCard


class SysmanSource:
    """Starts Sysman at most once successfully, and never while a card sleeps that should.

    A start is tried from open() and, when only sleep forbade it, from later reads. Only one thread
    tries at a time; the others go on without Sysman.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        # One start of Sysman at a time. A card's reader does not wait for it: its numbers from
        # sysfs would come late.
        self._lock = Lock()
        self._put_off: tuple[Card, ...] = ()
        self._cards: dict[str, SysmanCard] = {}
        self.started = False
        # Why it was not started, for people; empty when it was or nobody tried.
        self.problem = ""

    def start(self, cards: Sequence[Card]) -> None:
        """Start Sysman for these cards if the option, the cards and the library allow. Never raises."""
        gpus = [card for card in cards if card.kind is DeviceKind.GPU]
        if not loader.is_enabled(self._context, gpus):
            self.problem = "not used: no discrete card, or switched off by option"
            return
        with self._lock:
            self._try(gpus)

    def card(self, card: Card) -> SysmanCard | None:
        """The Sysman side of a card, if there is one now."""
        if self._put_off and self._lock.acquire(blocking=False):
            try:
                self._try(self._put_off)
            finally:
                self._lock.release()
        return self._cards.get(card.pci_bus_id)

    def stop(self) -> None:
        """Forget the cards."""
        self._cards = {}
        self._put_off = ()
        self.started = False

    def _try(self, cards: Sequence[Card]) -> None:
        if self.started:
            return
        if self._anyone_sleeps(cards):
            self._put_off = tuple(cards)
            self.problem = "put off: it would wake a sleeping card"
            return
        self._put_off = ()
        try:
            sysman = Sysman(load_library(loader.chosen_path(self._context)))
            sysman.start()
            devices = sysman.devices()
        except (BackendUnavailable, ReadError) as error:
            self.problem = str(error)
            return
        self._cards = {
            pci_bus_id: SysmanCard(sysman, handle) for pci_bus_id, handle in devices.items()
        }
        self.started, self.problem = True, ""

    def _anyone_sleeps(self, cards: Sequence[Card]) -> bool:
        return any(
            self._context.leaves_asleep(card.pci_bus_id)
            for card in cards
            if card.driver in GPU_DRIVERS
        )
