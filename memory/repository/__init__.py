"""SQL of the schema `memory`: one module and one file of named queries a noun."""
