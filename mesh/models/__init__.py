"""Language models and embedders behind small protocols; adapters are imported only when a setting asks for them."""
