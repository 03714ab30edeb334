"""The rules of a project on this machine, in COMMONPLACE_HOME/rules. All agents that work in the project share them.

A hook sends the version that it has with every call; if the server has another, its reply brings the rules. So a check
costs no round trip, and without a server the rules marked `hold` still decide.
"""

import json
import os
import time
import zlib
from typing import Any

from commonplace.client.companion.caller import unique_suffix
from commonplace.client.link import remote
from commonplace.rules.rule import Rule, read_rule
from commonplace.window import RULES_HEADER

_UNKNOWN_VERSION = "-"
_ROLE_FILE = "role"


class RuleCache:
    """`folder` is the state of the session, which keeps its role; `project` names the rules."""

    def __init__(self, folder: str, project: str) -> None:
        self._folder, self._project = folder, project
        self.version, self.rules = _UNKNOWN_VERSION, list[Rule]()
        self._is_loaded = False

    def load(self) -> list[Rule]:
        if not self._is_loaded:
            self._is_loaded = True
            self._read_file()
        return self.rules

    def _read_file(self) -> None:
        try:
            with open(_cache_path(self._project), "rb") as file:  # noqa: PTH123 - quicker, and beside every edit
                stored = json.load(file)
            self.rules = [read_rule(rule) for rule in stored["rules"]]
            self.version = str(stored["version"])
        except (OSError, ValueError, KeyError, TypeError):
            self.version, self.rules = _UNKNOWN_VERSION, []

    @property
    def header(self) -> str:
        """The version that this session has. One that does not know its role asks for everything."""
        self.load()
        return f"{RULES_HEADER}: {self.version if self.role else _UNKNOWN_VERSION}"

    @property
    def role(self) -> str:
        """The role of the session's key; empty if it is not known yet."""
        try:
            with open(f"{self._folder}/{_ROLE_FILE}", encoding="ascii") as file:  # noqa: PTH123 - as above
                return file.read()
        except OSError:
            return ""

    def take_news(self, news: dict[str, Any] | None) -> None:
        """Keep what came with a reply; without news the cache is known to be current."""
        if not news:
            _touch(_cache_path(self._project))
            return
        rules = news.get("rules", [])
        text = json.dumps({"version": news["version"], "rules": rules})
        for project in {self._project, str(news["project"])}:
            _write_text(_cache_path(project), text)
        if os.path.isdir(self._folder):  # noqa: PTH112 - as above; a session that has ended keeps no state
            _write_text(f"{self._folder}/{_ROLE_FILE}", str(news["role"]))
        self.version, self.rules = str(news["version"]), [read_rule(rule) for rule in rules]
        self._is_loaded = True

    def age_seconds(self) -> float:
        """Since the server last confirmed the rules; endless if it never did."""
        try:
            return time.time() - os.stat(_cache_path(self._project)).st_mtime  # noqa: PTH116 - as above
        except OSError:
            return float("inf")


def _cache_path(project: str) -> str:
    return f"{remote.client_home()}/rules/{zlib.crc32(project.encode('utf-8', 'replace')):08x}.json"


def _touch(path: str) -> None:
    try:
        os.utime(path)
    except OSError:
        return


def _write_text(path: str, text: str) -> None:
    """Replace the file as a whole: other hooks read it."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120 - strings are quicker here
    temporary = f"{path}.{unique_suffix()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - of a descriptor
        file.write(text)
    os.replace(temporary, path)  # noqa: PTH105 - as above
