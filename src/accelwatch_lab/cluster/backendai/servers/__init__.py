"""Manager, agents and the services that they need, as processes of a lab."""
