"""The command line: one module per command, with `add_arguments(parser)`, `run(arguments)` and `EPILOG`."""
