"""Rules of one node: the scalar code of `expr` over snapshots; loaded only where there are rules."""
