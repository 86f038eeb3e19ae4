"""Fixtures and doubles for tests. Nothing else imports this package."""
