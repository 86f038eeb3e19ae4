"""The other servers, as the gateway's use cases see them."""
