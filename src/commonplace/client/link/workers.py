"""A pool of threads that grows with the number of jobs, up to a limit."""

import queue
import threading
from collections.abc import Callable

Job = Callable[[], None]


class WorkerThreads:
    def __init__(self, max_threads: int) -> None:
        self._free_slots = threading.BoundedSemaphore(max_threads)
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._idle = 0
        self._busy = 0

    def start_job(self, job: Job) -> None:
        """Run the job in a thread; waits while too many are running."""
        self._free_slots.acquire()
        with self._changed:
            self._busy += 1
            waiting = self._idle > 0
            if waiting:
                self._idle -= 1
        if waiting:
            self._jobs.put(job)
        else:
            threading.Thread(target=self._run_jobs, args=(job,), daemon=True).start()

    def wait_for_jobs(self, seconds: float) -> None:
        """Wait for the running jobs, at most `seconds`."""
        with self._changed:
            self._changed.wait_for(lambda: self._busy == 0, seconds)
            for _ in range(self._idle):
                self._jobs.put(None)

    def _run_jobs(self, first: Job) -> None:
        job: Job | None = first
        while job is not None:
            try:
                job()
            finally:
                self._free_slots.release()
                with self._changed:
                    self._busy -= 1
                    self._idle += 1
                    self._changed.notify_all()
            job = self._jobs.get()
