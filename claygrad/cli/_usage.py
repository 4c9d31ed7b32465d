"""What a user got wrong: printed as one line, without a traceback."""


class UsageError(Exception):
    pass
