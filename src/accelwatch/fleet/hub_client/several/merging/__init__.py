"""What several hubs say, added up: totals, groups, pages, usage, histories, metrics. Pure."""
