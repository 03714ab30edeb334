"""Return memory that a model has freed to the operating system.

The allocator of glibc keeps what is freed: a model that was unloaded would still count as 100 MB of the process.
Other allocators return it without being asked.
"""

import ctypes
import sys


def return_freed_memory() -> None:
    if sys.platform != "linux":
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
