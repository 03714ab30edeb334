"""The time that a question names: "last week", "yesterday", "in October", "3 days ago".

`read_time_range` returns when the things that are asked for last changed; a question that names no time has none.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from commonplace.clock import SECOND

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
_NUMBER = rf"(?P<number>\d{{1,3}}|{'|'.join(_NUMBERS)})"
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_UNIT = rf"(?P<unit>{'|'.join(_UNIT_DAYS)})s?"
_AGO = re.compile(rf"\b{_NUMBER} {_UNIT} ago\b", re.IGNORECASE)
_LAST_SOME = re.compile(
    rf"\b(?:in |during |within )?(?:the )?(?:last|past) {_NUMBER} {_UNIT}\b", re.IGNORECASE
)
_RELATIVE = re.compile(r"\b(?:(today|yesterday)|(last|this) (week|month|year))\b", re.IGNORECASE)
_IN_MONTH = re.compile(rf"\b(?:in|of|since) ({'|'.join(_MONTHS)})(?: ((?:19|20)\d\d))?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TimeRange:
    since: int
    until: int


def read_time_range(question: str, now: int) -> TimeRange | None:
    """The range in microseconds, as the clock of the store counts them; None if the question names no time."""
    today = datetime.fromtimestamp(now / SECOND, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if found := _AGO.search(question):
        days = _count_days(found)
        # "3 days ago" is that day, "2 months ago" some weeks around it.
        slack = timedelta(days=max(1, days // 4))
        return _between(today - timedelta(days=days) - slack, today - timedelta(days=days - 1) + slack)
    if found := _LAST_SOME.search(question):
        return _between(today - timedelta(days=_count_days(found)), today + timedelta(days=1))
    if found := _RELATIVE.search(question):
        return _read_relative(found, today)
    if found := _IN_MONTH.search(question):
        return _read_month(found, today)
    return None


def _count_days(found: re.Match[str]) -> int:
    number = found["number"].lower()
    count = int(number) if number.isdigit() else _NUMBERS[number]
    return max(1, count * _UNIT_DAYS[found["unit"].lower()])


def _read_relative(found: re.Match[str], today: datetime) -> TimeRange:
    day, which, unit = (text.lower() if text else "" for text in found.groups())
    if day:
        start = today if day == "today" else today - timedelta(days=1)
        return _between(start, start + timedelta(days=1))
    start = {
        "week": today - timedelta(days=today.weekday()),
        "month": today.replace(day=1),
        "year": today.replace(month=1, day=1),
    }[unit]
    if which == "this":
        return _between(start, today + timedelta(days=1))
    before = start - timedelta(days=1)
    former = {
        "week": start - timedelta(days=7),
        "month": before.replace(day=1),
        "year": before.replace(month=1, day=1),
    }[unit]
    return _between(former, start)


def _read_month(found: re.Match[str], today: datetime) -> TimeRange:
    """The month of the year that is named, else the last one of this name."""
    month = _MONTHS.index(found[1].lower()) + 1
    year = int(found[2]) if found[2] else today.year - (month > today.month)
    start = today.replace(year=year, month=month, day=1)
    end = start.replace(year=year + month // 12, month=month % 12 + 1)
    is_open = found[0].lower().startswith("since")
    return _between(start, today + timedelta(days=1) if is_open else end)


def _between(start: datetime, end: datetime) -> TimeRange:
    return TimeRange(int(start.timestamp()) * SECOND, int(end.timestamp()) * SECOND)
