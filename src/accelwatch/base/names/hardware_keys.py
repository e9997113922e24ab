"""By what the faults of hardware are counted: texts for a node, a slot in it, and a board."""

NODE, SLOT, SERIAL = "node:", "slot:", "serial:"


def keys_of(node: str, *, slot: str = "", serial: str = "") -> tuple[str, ...]:
    """`node:n12`, then `slot:n12/SLOT` and `serial:NUMBER` as far as these are known."""
    slot_key = (f"{SLOT}{node}/{slot}",) if slot else ()
    board = (f"{SERIAL}{serial}",) if serial else ()
    return (f"{NODE}{node}", *slot_key, *board)
