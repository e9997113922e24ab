"""The old API, /admin/gql: what is asked of it here, in its schema's words."""
