"""The gateware in a page: compiled to WebAssembly, and driven by JavaScript."""
