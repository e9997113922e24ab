"""What nodes, devices and incidents of several hubs are called where they stand together."""
