"""What each verb of the API does: get, list, watch, create, update, patch, delete, evict, review."""
