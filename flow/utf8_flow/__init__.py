"""Command line and tool flows of utf8-hdl."""
