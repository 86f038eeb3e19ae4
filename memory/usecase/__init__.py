"""What the server does, one module a verb; transactions are opened here and nowhere else."""
