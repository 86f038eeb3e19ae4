"""The history of schema `engine`: Alembic revisions in raw SQL, `pre` before the new code and `post` after it."""
