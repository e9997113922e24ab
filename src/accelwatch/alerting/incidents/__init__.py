"""Incidents: what firing rules amount to, one for each entity and family of rules, with its history.

`incident` is the record, `incident_manager` makes incidents of verdicts, `grouping` joins those of one
cause, `silence` mutes. All of these are pure; `journal` writes them to disk.
"""
