"""Finds items that would wait for each other in a circle."""

from collections.abc import Iterable


def find_dependency_cycle(edges: Iterable[tuple[str, str]], start: str) -> list[str]:
    """Return a path along the edges from `start` back to itself, or an empty list."""
    needs_by_item: dict[str, list[str]] = {}
    for item, needs in edges:
        needs_by_item.setdefault(item, []).append(needs)
    paths, seen = [[start]], set[str]()
    while paths:
        path = paths.pop()
        for needs in needs_by_item.get(path[-1], []):
            if needs == start:
                return [*path, start]
            if needs not in seen:
                seen.add(needs)
                paths.append([*path, needs])
    return []
