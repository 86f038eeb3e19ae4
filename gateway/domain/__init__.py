"""What sessions, avatars and keys are; pure values and rules."""
