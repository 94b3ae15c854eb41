"""The live page: gateware compiled to WebAssembly and driven by JavaScript."""
