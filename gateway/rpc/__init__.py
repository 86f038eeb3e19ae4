"""The gateway's gRPC services."""
