"""What the detector holds of a node and its devices at its newest frame, also where nothing is found."""
