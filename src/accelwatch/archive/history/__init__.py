"""A fleet's history as Parquet files of one day each; docs/history.md. pyarrow is imported here only."""
