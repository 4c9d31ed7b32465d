"""Where Pythons differ."""

from __future__ import annotations

import sysconfig

# A free-threaded Python says on standard error that claygrad makes it switch its lock on; with the lock on from the start it says nothing.
WITH_LOCK = ("-X", "gil=1") if sysconfig.get_config_var("Py_GIL_DISABLED") else ()
