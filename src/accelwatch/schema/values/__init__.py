"""What values of devices can be, and how they are added up."""
