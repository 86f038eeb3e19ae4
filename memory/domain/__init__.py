"""Rules of memory that need neither a database nor a network."""
