"""Proofs: what decoder and encoder must do, and programs that show that they always do it."""
