"""What is kept: recordings, the black box, and the history in Parquet files."""
