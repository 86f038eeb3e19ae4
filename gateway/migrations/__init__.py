"""The history of the schema `gateway`, and the table of other owners that it reads."""
