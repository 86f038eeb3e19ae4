"""The runtime that the four servers share. It knows no product noun: see docs/architecture.md."""
