"""The state while a step works on it: tables, records for the journal, and views for guards."""
