"""How a server process starts, reads its settings, and stops."""
