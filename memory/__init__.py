"""The memory server: facts about a user, raw evidence in chunks, and the recall of both."""
