"""English: how sentences become clauses, what must stay silent, and one file of rules for each subject."""
