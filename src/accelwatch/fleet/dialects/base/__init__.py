"""What every dialect builds on: the table's rows, models, counts."""
