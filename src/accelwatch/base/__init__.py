"""What everything else rests on: errors, clocks, why a value is absent, texts from strangers."""
