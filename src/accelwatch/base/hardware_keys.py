"""By what the faults of hardware are counted: texts for a node, a slot in it, and a board."""


def keys_of(node: str, *, slot: str = "", serial: str = "") -> tuple[str, ...]:
    """`node:n12`, then `slot:n12/SLOT` and `serial:NUMBER` as far as these are known."""
    slot_key = (f"slot:{node}/{slot}",) if slot else ()
    board = (f"serial:{serial}",) if serial else ()
    return (f"node:{node}", *slot_key, *board)
