"""Work that no caller waits for: the outbox and the sweeps."""
