"""What is done about a fault: three policies over the same faults."""
