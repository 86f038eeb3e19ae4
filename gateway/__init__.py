"""The edge of the mesh: HTTP and gRPC for callers, sessions, avatars and API keys."""
