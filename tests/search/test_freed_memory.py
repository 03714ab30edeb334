"""Memory that was freed belongs to the operating system again."""

import sys

import psutil
import pytest

from commonplace.freed_memory import return_freed_memory


@pytest.mark.skipif(sys.platform != "linux", reason="other allocators return memory without being asked")
def test_freed_memory_is_returned():
    process = psutil.Process()
    blocks = [b"x" * 100_000 for _ in range(600)]
    # What stays between the freed blocks keeps the allocator from returning them by itself.
    kept = blocks[::50]
    blocks.clear()
    held = process.memory_info().rss
    return_freed_memory()
    assert held - process.memory_info().rss > 30_000_000
    assert len(kept) == 12
