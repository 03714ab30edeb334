"""How a server is started; shared by the harness and `server_program.py`, which imports the product."""

from dataclasses import dataclass, field


@dataclass
class ServerStart:
    arguments: list[str]
    control: str
    log: str
    lease_seconds: float = 0
    """How long a lease of one minute lasts; the takeover delay shrinks with it."""
    unsynced: str = ""
    """Where to note writes that were not synced yet, to lose them later as a power cut does."""
    has_database_clock: bool = False
    """The database's clock is shifted by what the table `nemesis_clock` says."""
    mutants: list[str] = field(default_factory=list)
    clock_seconds: float = 0
    """How far the clock of the machine is from the true time."""


DATABASE_CLOCK_TABLE = "nemesis_clock"
