"""What is stored: resources, their fields and versions, patches, selectors, defaults, checks."""
