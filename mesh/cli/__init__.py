"""The `mnemesh` command: starts the mesh on one machine, looks after it, and talks to it.

It knows servers as data (`services.py`) and starts them as processes; it imports none of them.
"""
