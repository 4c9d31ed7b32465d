from claygrad.core.graph.node cimport clay_scope

cdef object as_call(clay_scope* scope)        # the ModuleCall that Python sees, or None
