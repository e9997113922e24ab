"""What keys do on the Fleet screen."""
