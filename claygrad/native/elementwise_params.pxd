from claygrad.core.op cimport Op
