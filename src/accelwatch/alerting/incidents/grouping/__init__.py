"""Which incidents belong together, by three rules that stand side by side.

- `rule_groups`: as a rule configures them (`group: {by: rack, at_least: 3}`)
- `storms`: many nodes at once, whatever their rules group by; above the groups of rules
- `causes`: what follows from what on one node or job, of which one incident leads

The first two make an incident of its own of a group: it opens when enough candidates have opened within
a span, its members are those that have ever been in it, and it is over when none of them has been open
for as long as the rule calls calm. `group_state` has what both remember, `group_incident` the incident,
`grouping_key` what members have in common; `incident_groups` has both as one. What decides is in
`storm_rules` and `cause_rules`.
"""
