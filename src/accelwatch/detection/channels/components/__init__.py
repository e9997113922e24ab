"""What channels are made of: memories, runs of ticks, tables, and what several conditions share."""
