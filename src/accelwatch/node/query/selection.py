"""Which devices are meant: by selector (index, name, uuid, PCI id), by visibility, by expression."""

from collections.abc import Iterable, Mapping, Sequence

from accelwatch.backend import Visibility
from accelwatch.base.errors import UnmetError
from accelwatch.expr import Expression
from accelwatch.node.query.lookup import lookup
from accelwatch.node.query.visibility import Declared
from accelwatch.schema.device import normal_pci_bus_id, normal_uuid
from accelwatch.schema.renamed import current_vendor
from accelwatch.schema.snapshot import DeviceView

_MIN_UUID_PREFIX = 4


def select(views: Sequence[DeviceView], selectors: Iterable[str]) -> list[DeviceView]:
    """The views that any selector means, in their own order; a whole device brings its partitions.

    Raises UnmetError that names the valid selectors when one means nothing, or an index the devices of
    several vendors.
    """
    chosen: set[str] = set()
    for selector in selectors:
        text = selector.strip()
        meant = [view for view in views if text == "all" or _means(text, view)]
        _refuse_ambiguous(text, meant)
        ids = {view.device.id for view in meant}
        if not ids and not (text == "all" and not views):
            by_name = selector[:1].isalpha() and ":" not in selector
            name_of = _name if by_name else _qualified
            valid = ", ".join(map(name_of, _unpartitioned(views)))
            raise UnmetError(f"no device {selector!r}; there are: {valid or 'none'}")
        chosen |= ids
    return [view for view in views if view.device.id in chosen or view.device.parent_id in chosen]


def _refuse_ambiguous(selector: str, meant: Sequence[DeviceView]) -> None:
    """Each vendor counts its own devices from 0, so that a bare index may mean several."""
    if selector.isdecimal() and len({view.device.vendor for view in meant}) > 1:
        which = ", ".join(map(_qualified, meant))
        raise UnmetError(f"{selector!r} means {len(meant)} devices; say which: {which}")


def _qualified(view: DeviceView) -> str:
    return f"{view.device.vendor}:{view.device.index}"


def _name(view: DeviceView) -> str:
    return view.device.name


def _unpartitioned(views: Iterable[DeviceView]) -> list[DeviceView]:
    return [view for view in views if view.device.parent_id is None]


def _means(selector: str, view: DeviceView) -> bool:
    device = view.device
    if selector in (device.id, device.name, device.serial, device.uuid):
        return True
    if selector.isdecimal():
        return device.parent_id is None and device.index == int(selector)
    vendor, _, number = selector.partition(":")
    if number.isdecimal() and current_vendor(vendor) == device.vendor:
        return device.parent_id is None and device.index == int(number)
    if device.pci_bus_id and normal_pci_bus_id(selector) == device.pci_bus_id:
        return device.parent_id is None
    uuid = (device.uuid or "").lower()
    bare = normal_uuid(uuid)
    prefix = selector.lower()
    return len(prefix) >= _MIN_UUID_PREFIX and (uuid.startswith(prefix) or bare.startswith(prefix))


def visible(
    views: Sequence[DeviceView], environ: Mapping[str, str], declared: Declared
) -> list[DeviceView]:
    """The views that the visibility variables of the environment leave; a vendor without one keeps all.

    As the vendors' runtimes do, reading stops at the first entry that means no device.
    """
    allowed: dict[str, set[str]] = {}
    for vendor in {view.device.vendor for view in views}:
        mine = [view for view in views if view.device.vendor == vendor]
        visibility = declared.of(mine[0].device)
        variables = () if visibility is None else (*visibility.also, visibility.variable)
        variable = next((name for name in variables if name in environ), None)
        if visibility is not None and variable is not None:
            allowed[vendor] = _listed(mine, environ[variable], visibility)
    kept: list[DeviceView] = []
    for view in views:
        ids = allowed.get(view.device.vendor)
        if ids is None or view.device.id in ids or view.device.parent_id in ids:
            kept.append(view)
    return kept


def _listed(views: Sequence[DeviceView], text: str, visibility: Visibility) -> set[str]:
    """Ids of the devices in a variable; a part of one (a tile `0.1`, a core `npu:0:1`) is the device."""
    ids: set[str] = set()
    for entry in map(str.strip, text.split(",")):
        token = entry.partition(".")[0] if entry[:1].isdecimal() and ":" not in entry else entry
        meant = {
            view.device.id
            for view in views
            if token and (_means(token, view) or _is_of(token, visibility.entry_of(view.device)))
        }
        if not meant:
            break
        ids |= meant
    return ids


def _is_of(token: str, entry: str | None) -> bool:
    if entry is None:
        return False
    return token == entry or (":" in entry and token.startswith(f"{entry}:"))


def matching(
    views: Iterable[DeviceView], condition: Expression, host: str = ""
) -> list[DeviceView]:
    """The views for which the condition is True; False and unknown are left out alike."""
    return [view for view in views if condition.evaluate(lookup(view, host)) is True]
