"""What an expression may name: values, quantities, functions, events, peers, windows."""
