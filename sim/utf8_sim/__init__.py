"""Golden model, stimulus, simulation engines and comparison for utf8_hdl."""
