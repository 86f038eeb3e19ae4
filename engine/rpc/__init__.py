"""The gRPC surface: protobuf messages to domain values and back."""
