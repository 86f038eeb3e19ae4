"""What the gateway does: transactions around repositories, no transport."""
