"""Simulation engines."""
