"""Operations: steps of an action in the journal, the ledger that permits them, and their effect."""
