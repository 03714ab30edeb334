"""Markdown as a tree that the web page builds elements from: no HTML is ever sent, so none can be run.

markdown-it-py parses CommonMark with tables; raw HTML in a text stays text. Links keep only addresses that open a page or a
mail; pictures become links, because loading one would tell a foreign server who reads what.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from commonplace.access import Caller
from commonplace.call import Call
from commonplace.operation import Reply, operation

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_MAX_PARSED_CHARACTERS: Final = 200_000
_ALLOWED_SCHEMES: Final = ("https:", "http:", "mailto:")
_SELF_CONTAINED: Final = {"softbreak": "br", "hardbreak": "br", "hr": "hr"}

MarkdownTexts = Annotated[
    list[Annotated[str, Field(max_length=2_000_000)]], Field(max_length=100, description="Texts in Markdown.")
]
Node = Any
"""A text, or `[tag, attributes, children]`."""


class MarkdownTrees(Reply):
    trees: list[list[Node]]


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # noqa: PLC0415 - only the page asks for Markdown, and every start would wait

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


async def _parse_texts(_calls: object, arguments: Mapping[str, Any], _caller: Caller) -> list[list[Node]]:
    return await asyncio.to_thread(lambda: [parse_markdown(text) for text in arguments["texts"]])


@operation(
    "memory_render_markdown",
    role="readonly",
    session=False,
    prepare=_parse_texts,
    example={"texts": ["**bold** and `code`"]},
)
async def render_markdown(call: Call, texts: MarkdownTexts) -> MarkdownTrees:
    """Parse Markdown into trees of [tag, attributes, children] and texts."""
    del texts
    return MarkdownTrees(trees=call.prepared)


def parse_markdown(text: str) -> list[Node]:
    if len(text) > _MAX_PARSED_CHARACTERS:
        return [["pre", {}, [text]]]
    return _build_nodes(_parser().parse(text))


def _build_nodes(tokens: "Sequence[Token]") -> list[Node]:
    """Nest the flat list of opening and closing tokens."""
    top: list[Node] = []
    open_children = [top]
    for token in tokens:
        if token.hidden:
            continue
        if token.nesting == 1:
            children: list[Node] = []
            open_children[-1].append([token.tag, _read_attributes(token), children])
            open_children.append(children)
        elif token.nesting == -1:
            open_children.pop()
        else:
            open_children[-1].extend(_build_leaf(token))
    return top


def _build_leaf(token: "Token") -> list[Node]:
    if token.type == "inline":
        return _build_nodes(token.children or [])
    if token.type in ("fence", "code_block"):
        language = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
        return [["pre", {"lang": language[:40]} if language else {}, [["code", {}, [token.content]]]]]
    if token.type == "code_inline":
        return [["code", {}, [token.content]]]
    if token.type == "image":
        address = str(token.attrs.get("src", ""))
        label = token.content or address
        return [["a", {"href": address}, [label]]] if _is_safe_address(address) else [label]
    if token.type in _SELF_CONTAINED:
        return ["\n"] if token.type == "softbreak" else [[_SELF_CONTAINED[token.type], {}, []]]
    return [token.content] if token.content else []


def _read_attributes(token: "Token") -> dict[str, str]:
    if token.type == "link_open":
        address = str(token.attrs.get("href", ""))
        return {"href": address} if _is_safe_address(address) else {}
    if token.type == "ordered_list_open" and "start" in token.attrs:
        return {"start": str(token.attrs["start"])}
    return {}


def _is_safe_address(address: str) -> bool:
    return address.lower().startswith(_ALLOWED_SCHEMES)
