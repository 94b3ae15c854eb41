"""Verification runs and their reports."""
