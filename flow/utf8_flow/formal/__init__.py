"""Proofs: specifications and properties of the components, and the tools that prove them."""
