"""A process is told apart from a later one with the same id."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace import window
from commonplace.window import find_process_start, kind_of_window, machine_name, process_window


@pytest.fixture
def sleeper():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_the_start_of_a_living_process_stays_the_same_and_ends_with_it(sleeper):
    started = find_process_start(sleeper.pid)
    assert started
    assert find_process_start(sleeper.pid) == started
    sleeper.kill()
    sleeper.wait()
    assert find_process_start(sleeper.pid) == ""


def test_processes_that_start_after_each_other_have_their_own_start(sleeper):
    assert find_process_start(sleeper.pid) != find_process_start(os.getppid())


def test_the_window_of_a_process_carries_its_start():
    started = find_process_start(os.getpid())
    own = process_window(os.getpid())
    assert own == f"pid:{machine_name()}:{os.getpid()}:{started}"
    assert kind_of_window(own) == "connection"


@pytest.mark.skipif(not Path("/bin/ps").exists(), reason="there is no /bin/ps")
def test_ps_tells_the_start_where_there_is_no_proc(sleeper):
    started = window._ask_ps(sleeper.pid)
    assert started
    assert window._ask_ps(sleeper.pid) == started
    assert window._ask_ps(2**22 + 1) == ""
