"""Which of driver, tt-smi and pyluwen reads a chip, and the snapshot of the latter two."""

from pathlib import Path

import msgspec

from accelwatch.backend import Context
from accelwatch.backend.errors import BackendUnavailable
from accelwatch.backend.kit.vendor_program import chosen_program, output_of
from accelwatch.base.errors import ReadError
from accelwatch.system.kernel import sysfs
from accelwatch.system.processes.complete_output import parsed
from accelwatch_tenstorrent import driver, mapping, python_library
from accelwatch_tenstorrent.snapshot import Snapshot, parse

PROGRAM = "tt-smi"
LOAD_DRIVER = "load the driver: tenstorrent (tt-kmd)"
_GET_TOOL = "update the driver tt-kmd to 2.0 or later, or install tt-smi"
_SOURCES = ("auto", "sysfs", PROGRAM, python_library.NAME)
# Sources beside the driver, and the word for one that is not there.
_TOOLS = {PROGRAM: "command_not_found", python_library.NAME: "library_missing"}
# For one run: it reads every chip in turn, and a tray has 32.
_TIMEOUT_S = 20.0


class Sources:
    """The option `source`, and what is installed."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._source = "auto"
        self._program: Path | None = None
        # Whether what the driver does not show is read by pyluwen.
        self.by_library = False

    def choose(self) -> None:
        """See which sources there are. Raises BackendUnavailable."""
        root = self._context.root
        source = self._context.options.get("source", "auto")
        if not isinstance(source, str) or source not in _SOURCES:
            raise BackendUnavailable(
                f"source: {source!r} is not one of {', '.join(_SOURCES)}",
                reason="option",
                remedy="fix collect.options.tenstorrent.source in the configuration",
            )
        if not (root / "sys/class/tenstorrent").is_dir():
            raise BackendUnavailable(
                f"{root / 'sys/class/tenstorrent'} is not there: the driver is not loaded",
                reason="driver_not_loaded",
                remedy=LOAD_DRIVER,
            )
        self._source = source
        self._program = self.find() if source in ("auto", PROGRAM) else None
        library = source in ("auto", python_library.NAME) and self._program is None
        self.by_library = library and python_library.is_installed()
        if source in _TOOLS and self._program is None and not self.by_library:
            raise BackendUnavailable(
                f"{source} was not found",
                reason=_TOOLS[source],
                remedy=f"install {source}, or set the source to auto",
            )

    @property
    def opened(self) -> str:
        """The source that a report names."""
        return self._source if self._source in _TOOLS else driver.SOURCE

    @property
    def tool_name(self) -> str:
        """Who reads what the driver does not show."""
        return python_library.NAME if self.by_library else PROGRAM

    def find(self) -> Path | None:
        """tt-smi's file."""
        named = self._context.options.get("tt_smi")
        return chosen_program(self._context.root, named, (PROGRAM,))

    def by_driver(self, node: driver.Node) -> bool:
        """Whether a chip is read from the driver, be it all of its telemetry or all there is to have."""
        if self._source != "auto":
            return self._source == "sysfs"
        return node.complete or (self._program is None and node.hwmon is not None)

    def needs_tool(self) -> bool:
        """Whether some chip cannot be read from the driver."""
        if self._source != "auto":
            return self._source in _TOOLS
        nodes = driver.nodes(self._context.root)
        if any(not self.by_driver(node) for node in nodes.values()):
            return True
        boards = {node.text("tt_card_type") for node in nodes.values()}
        return self._program is not None and "n300" in boards

    def query(self) -> Snapshot:
        """The newest snapshot; an empty one where none is needed."""
        if not self.needs_tool():
            return Snapshot()
        if self.by_library:
            return python_library.snapshot(self._unshown())
        if self._program is None:
            raise ReadError(
                f"the driver shows no telemetry and tt-smi was not found: {_GET_TOOL}",
                code="command_not_found",
            )
        is_complete = parsed(parse, lambda snapshot: snapshot.chips)
        snapshot = parse(
            output_of(self._program, "-s", timeout_s=_TIMEOUT_S, is_complete=is_complete)
        )
        chips = tuple(
            msgspec.structs.replace(chip, architecture=self.architecture(chip.pci_bus_id))
            for chip in snapshot.chips
        )
        return msgspec.structs.replace(snapshot, chips=chips)

    def _unshown(self) -> list[python_library.ChipAddress]:
        """Chips that the driver has bound and does not report enough of."""
        return [
            python_library.ChipAddress(
                node.number, node.pci_bus_id, self.architecture(node.pci_bus_id)
            )
            for node in driver.nodes(self._context.root).values()
            if not self.by_driver(node) and not self._context.leaves_asleep(node.pci_bus_id)
        ]

    def architecture(self, pci_bus_id: str | None) -> str | None:
        """By the PCI device id; None off the bus."""
        if pci_bus_id is None:
            return None
        folder = sysfs.pci_device_dir(self._context.root, pci_bus_id)
        number = sysfs.read_int(folder / "device")
        return mapping.ARCHITECTURES.get(number) if isinstance(number, int) else None
