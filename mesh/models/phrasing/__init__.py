"""How the built-in responder puts what was recalled into words; no model, no network, no state."""
