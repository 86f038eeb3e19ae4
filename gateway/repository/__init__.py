"""SQL of the gateway: one query a function, rows as domain dataclasses."""
