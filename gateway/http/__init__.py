"""The HTTP side: contracts become routes, statuses become problem documents, streams become SSE or NDJSON."""
