"""Flow control: stages, and the pipelines around them."""
