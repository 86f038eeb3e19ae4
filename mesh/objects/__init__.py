"""Bytes in a file system, in memory or in a bucket, addressed by tenant-scoped keys."""
