"""Who calls whom inside one tree, as far as names alone can tell."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from commonplace.librarian.function import Function

_MOST = 50
_words = str.split
# Methods of strings, lists and maps in nearly every language: a call of one says nothing about ours.
_EVERYDAY = frozenset(
    _words(
        "add all any append apply bind call clear close copy count delete each emit end error exec execute exists exit"
        " extend filter find first flush format get has index init insert is items join keys last len length list load"
        " log main map match max min name new next open parse path pop post print push put query read release remove"
        " render replace reset resolve reverse run save search send set setup shift size sort split start status stop"
        " strip sum test to toString trim type update value values write"
    )
)
_SELF = frozenset({"self", "this", "cls", "Self", "static", "@"})


class _Names:
    def __init__(self, functions: Iterable[Function]) -> None:
        self.exact: dict[tuple[str, str], Function] = {}
        self.short: dict[str, list[Function]] = defaultdict(list)
        for function in functions:
            self.exact[function.file, function.name] = function
            self.short[function.short].append(function)

    def resolve(self, caller: Function, callee: str) -> Function | None:
        receiver, _, name = callee.rpartition(".")
        if not receiver or receiver in _SELF:
            own = self._beside(caller, name)
            if own is not None:
                return own
        candidates = self.short.get(name, ())
        if receiver and receiver not in _SELF:
            named = [
                each for each in candidates if each.name.endswith(f"{receiver.rpartition('.')[2]}.{name}")
            ]
            if len(named) == 1:
                return named[0]
            if name in _EVERYDAY:
                return None
        return candidates[0] if len(candidates) == 1 else None

    def _beside(self, caller: Function, name: str) -> Function | None:
        """In the same class, else in the same file."""
        scope = caller.name.rpartition(".")[0]
        while scope:
            if found := self.exact.get((caller.file, f"{scope}.{name}")):
                return found
            scope = scope.rpartition(".")[0]
        return self.exact.get((caller.file, name))


def called_by(functions: Iterable[Function]) -> Mapping[tuple[str, str], list[str]]:
    """For each (file, name): who calls it, as `file#name`."""
    everything = list(functions)
    names = _Names(everything)
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for caller in everything:
        if caller.kind == "class":
            continue
        for callee in caller.calls:
            target = names.resolve(caller, callee)
            if target is not None and target is not caller:
                found[target.file, target.name].add(f"{caller.file}#{caller.name}")
    return {place: sorted(callers)[:_MOST] for place, callers in found.items()}
