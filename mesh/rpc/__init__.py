"""gRPC as every server and client of the mesh speaks it."""
