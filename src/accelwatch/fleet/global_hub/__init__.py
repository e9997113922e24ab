"""A hub that follows hubs: it holds their picture, and requests go to the hub that they are about."""
