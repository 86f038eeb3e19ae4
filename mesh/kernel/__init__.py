"""Values and errors that depend on nothing but the standard library."""
