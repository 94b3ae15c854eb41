"""Runs that verify, and what they report."""
