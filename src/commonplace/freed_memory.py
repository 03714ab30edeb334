"""Give freed memory back to the operating system, so that one large request does not enlarge the server for ever.

glibc raises its threshold for separate mappings to the size of the largest block that was ever freed; from then on
blocks of that size stay in its heaps (a few requests of 15 MB: 63 MB more for good). A fixed threshold ends that.
"""

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_THRESHOLD_BYTES = 1024 * 1024


def return_freed_memory() -> None:
    """Fix the thresholds of glibc; does nothing with another C library."""
    if sys.platform != "linux":
        return
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_M_MMAP_THRESHOLD, _THRESHOLD_BYTES)
        set_option(_M_TRIM_THRESHOLD, _THRESHOLD_BYTES)
