"""The node agent's HTTP server: views of the store, and who may see them."""
