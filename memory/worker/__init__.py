"""Work that no caller waits for: vectors that are still to be made, and sweeps."""
