"""Find the callers of each function inside one source tree, by name only."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from commonplace.librarian.function import SourceFunction

_MAX_CALLERS = 50
_split_words = str.split
# Methods of strings, lists and maps in nearly every language: such a call is not evidence for a function of ours.
_COMMON_METHODS = frozenset(
    _split_words(
        "add all any append apply bind call clear close copy count delete each emit end error exec execute exists exit"
        " extend filter find first flush format get has index init insert is items join keys last len length list load"
        " log main map match max min name new next open parse path pop post print push put query read release remove"
        " render replace reset resolve reverse run save search send set setup shift size sort split start status stop"
        " strip sum test to toString trim type update value values write"
    )
)
_SELF_RECEIVERS = frozenset({"self", "this", "cls", "Self", "static", "@"})


class _FunctionNames:
    def __init__(self, functions: Iterable[SourceFunction]) -> None:
        self.by_full_name: dict[tuple[str, str], SourceFunction] = {}
        self.by_short_name: dict[str, list[SourceFunction]] = defaultdict(list)
        for function in functions:
            self.by_full_name[function.file, function.name] = function
            self.by_short_name[function.short_name].append(function)

    def resolve_callee(self, caller: SourceFunction, callee: str) -> SourceFunction | None:
        receiver, _, name = callee.rpartition(".")
        if not receiver or receiver in _SELF_RECEIVERS:
            nearby = self._find_nearby(caller, name)
            if nearby is not None:
                return nearby
        candidates = self.by_short_name.get(name, ())
        if receiver and receiver not in _SELF_RECEIVERS:
            qualified = [
                candidate
                for candidate in candidates
                if candidate.name.endswith(f"{receiver.rpartition('.')[2]}.{name}")
            ]
            if len(qualified) == 1:
                return qualified[0]
            if name in _COMMON_METHODS:
                return None
        return candidates[0] if len(candidates) == 1 else None

    def _find_nearby(self, caller: SourceFunction, name: str) -> SourceFunction | None:
        """Find the name in the caller's class, else in its file."""
        scope = caller.name.rpartition(".")[0]
        while scope:
            if match := self.by_full_name.get((caller.file, f"{scope}.{name}")):
                return match
            scope = scope.rpartition(".")[0]
        return self.by_full_name.get((caller.file, name))


def find_callers(functions: Iterable[SourceFunction]) -> Mapping[tuple[str, str], list[str]]:
    """Map each (file, name) to its callers as `file#name`."""
    all_functions = list(functions)
    names = _FunctionNames(all_functions)
    callers_by_key: dict[tuple[str, str], set[str]] = defaultdict(set)
    for caller in all_functions:
        if caller.kind == "class":
            continue
        for callee in caller.calls:
            target = names.resolve_callee(caller, callee)
            if target is not None and target is not caller:
                callers_by_key[target.file, target.name].add(f"{caller.file}#{caller.name}")
    return {key: sorted(callers)[:_MAX_CALLERS] for key, callers in callers_by_key.items()}
