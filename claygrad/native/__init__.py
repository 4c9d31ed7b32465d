"""How the CPU runs operations, a module per family: checked arguments in, one kernel out. `load` loads them all."""
