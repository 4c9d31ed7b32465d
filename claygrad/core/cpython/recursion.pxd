# For functions that call themselves for the elements of a list: one that contains itself ends in a RecursionError, as in Python,
# not in an overflow of the stack.
#
#     enter_recursion(b" in a result")
#     try:
#         return [converted(x) for x in value]
#     finally:
#         leave_recursion()

cdef extern from *:
    """
    /* CPython says only that a failure is not zero: it is 1 in most versions. */
    static inline int clay_enter_recursion(const char* where) { return Py_EnterRecursiveCall(where) ? -1 : 0; }
    """
    int enter_recursion "clay_enter_recursion"(const char* where) except -1
    void leave_recursion "Py_LeaveRecursiveCall"()
