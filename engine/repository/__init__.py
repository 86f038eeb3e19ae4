"""The tables of schema `engine`. A function takes a transaction, runs one named query and returns domain values."""
