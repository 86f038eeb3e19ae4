"""Durable work: an outbox written with the data, a relay that delivers it, leases and periodic sweeps."""
