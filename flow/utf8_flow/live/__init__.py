"""The gateware in a web page: compiled to WebAssembly, and driven by JavaScript."""
