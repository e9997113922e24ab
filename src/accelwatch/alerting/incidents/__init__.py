"""Incidents: what firing rules amount to, one for each entity and family of rules, with its history.

`incident` is what is known of one, `incident_manager` makes them of verdicts, `grouping` sees that many
are one, `silence` knows whom nobody wants to hear of. All of these are pure; `journal` writes them down.
"""
