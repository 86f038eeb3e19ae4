"""Small servers that speak the wire formats of model providers, so that tests run the real client libraries."""
