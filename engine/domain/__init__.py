"""What a turn is and how it may change, as plain values and pure functions."""
