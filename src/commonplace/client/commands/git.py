"""`commonplace git`: take lines of others, put your own aside and bring them back, and restore what a command changed."""

import argparse
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from commonplace import errors
from commonplace.client.checkout import shelves
from commonplace.client.checkout.acting_author import author_of, find_acting_run, find_committing_author
from commonplace.client.checkout.checkout import Checkout
from commonplace.client.checkout.git_program import GitFailed
from commonplace.client.checkout.ledger import Author


def run(arguments: argparse.Namespace) -> int:
    try:
        checkout = Checkout.open(str(Path.cwd()))
        if checkout is None:
            raise errors.NotFound("This is not a git repository.", hint="Run it inside one.")
        hook_run = find_acting_run(checkout.root)
        author = find_committing_author(checkout, hook_run) or author_of(hook_run)
        return _ACTS[arguments.act](checkout, author, arguments)
    except GitFailed as failed:
        raise errors.NotFound(f"{failed}", hint="Run it inside a git repository.") from None


def _take(checkout: Checkout, author: Author, arguments: argparse.Namespace) -> int:
    taken = checkout.take_lines(author, _from_root(checkout, arguments.paths))
    if not taken:
        raise errors.NotFound(
            "Nobody else has uncommitted lines in these files.", hint="git add and git commit."
        )
    print(f"Yours now: {', '.join(taken)}. The next `git add` and `git commit` take them.")
    return 0


def _shelve(checkout: Checkout, author: Author, arguments: argparse.Namespace) -> int:
    paths = _from_root(checkout, arguments.paths)
    shelf = shelves.shelve_lines(checkout, author, paths, arguments.message or "shelved")
    if shelf is None:
        raise errors.NotFound("You have no uncommitted lines here.", hint="git status shows what is changed.")
    print(f"Shelved as {shelf.number}: {', '.join(shelf.files)}")
    print("  commonplace git unshelve    brings them back")
    return 0


def _unshelve(checkout: Checkout, author: Author, arguments: argparse.Namespace) -> int:
    found = [
        shelf
        for shelf in shelves.list_shelves(checkout)
        if (str(shelf.number) == arguments.name if arguments.name else shelf.agent == author.name)
    ]
    if not found:
        raise errors.NotFound("There is no such shelf.", hint="See all with: commonplace git shelves")
    shelves.unshelve_lines(checkout, author, found[-1])
    print(f"Brought back: {', '.join(found[-1].files)}")
    return 0


def _list_shelves(checkout: Checkout, _author: Author, _arguments: argparse.Namespace) -> int:
    for shelf in shelves.list_shelves(checkout):
        print(f"{shelf.number}  {shelf.agent}  {shelf.what}: {', '.join(shelf.files)}")
    return 0


def _rescue(checkout: Checkout, author: Author, arguments: argparse.Namespace) -> int:
    lost = checkout.list_lost()
    if arguments.rescue_act == "list":
        for number, each in enumerate(lost, start=1):
            when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(each.at))
            print(f"{number}  {when}  {each.path}  before: {each.command}")
        return 0
    number = int(arguments.name) if arguments.name.isdecimal() else 0
    if not 0 < number <= len(lost):
        raise errors.NotFound(f"There is no version {arguments.name}.", hint="commonplace git rescue list")
    checkout.restore_lost(lost[number - 1], author)
    print(f"Restored: {lost[number - 1].path}. What was there is in the list now.")
    return 0


def _from_root(checkout: Checkout, paths: Sequence[str]) -> list[str]:
    return [os.path.relpath(Path(path).absolute().resolve(), checkout.root) for path in paths]


_ACTS: dict[str, Callable[[Checkout, Author, argparse.Namespace], int]] = {
    "take": _take,
    "shelve": _shelve,
    "unshelve": _unshelve,
    "shelves": _list_shelves,
    "rescue": _rescue,
}
