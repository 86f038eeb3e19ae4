"""The other servers, as the use cases know them."""
