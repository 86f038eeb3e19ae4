"""What the engine does: one module for each thing a caller can ask of it. Use cases open the transactions."""
