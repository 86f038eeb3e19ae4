"""The history of the schema `memory`."""
