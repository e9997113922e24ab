"""What several backends share: vendor commands here and over ssh, tables, processes."""
