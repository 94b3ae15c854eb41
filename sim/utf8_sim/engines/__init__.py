"""What simulates a design."""
