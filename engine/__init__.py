"""The engine: an append-only log of what was said, and the turns that add to it."""
