"""The old API, /admin/gql: the queries that are used here, in its schema's words."""
