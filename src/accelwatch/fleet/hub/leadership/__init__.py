"""The leader among hubs with one journal: how it is found, and what only it runs."""
