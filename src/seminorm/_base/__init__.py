"""Tools without mathematics: lazy names, extras, warnings, memory, threads, saving."""
