"""Give freed memory back to the operating system. The allocator of glibc keeps it; others return it without being asked."""

import ctypes
import sys
from typing import Any

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_THRESHOLD_BYTES = 1024 * 1024


def fix_memory_thresholds() -> None:
    """Let one large request not enlarge the server for ever.

    glibc raises its threshold for separate mappings to the size of the largest block that was ever freed; from then on
    blocks of that size stay in its heaps (a few requests of 15 MB: 63 MB more for good). A fixed threshold ends that.
    """
    if set_option := _find_function("mallopt"):
        set_option(_M_MMAP_THRESHOLD, _THRESHOLD_BYTES)
        set_option(_M_TRIM_THRESHOLD, _THRESHOLD_BYTES)


def return_freed_memory() -> None:
    """Return what a model has freed: one that was unloaded would still count as 100 MB of the process."""
    if trim := _find_function("malloc_trim"):
        trim(0)


def _find_function(name: str) -> Any:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
