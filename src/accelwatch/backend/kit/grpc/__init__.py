"""One unary gRPC call on loopback or over a Unix socket, and its messages field by field."""
