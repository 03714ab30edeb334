"""A language model behind HTTP: any OpenAI-compatible server, or Anthropic's API. Code leaves only through here."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from commonplace import errors

_SECONDS = 120
_LARGEST = 4_000_000
_ANTHROPIC = "anthropic"
_ANTHROPIC_URL = "https://api.anthropic.com"
_VERSION = "2023-06-01"


@dataclass(frozen=True, slots=True)
class Answer:
    """`spent` is in tokens, question and answer together."""

    text: str
    asked: int
    answered: int

    @property
    def spent(self) -> int:
        return self.asked + self.answered


class Endpoint:
    """`choice` is URL#model, anthropic#model, or anthropic+URL#model."""

    def __init__(self, choice: str, key: str) -> None:
        address, _, self.model = choice.partition("#")
        kind, plus, rest = address.partition("+")
        self._anthropic = address == _ANTHROPIC or (kind == _ANTHROPIC and bool(plus))
        self.url = (
            rest if plus and self._anthropic else _ANTHROPIC_URL if self._anthropic else address
        ).rstrip("/")
        if urlsplit(self.url).scheme not in ("http", "https") or not self.model:
            raise errors.Invalid(
                f"'{choice}' names no model.",
                hint="Use http://127.0.0.1:11434/v1#qwen3 or anthropic#MODEL.",
            )
        self._key = key
        self._opener = urllib.request.build_opener(_NoRedirect)

    def ask(self, system: str, question: str, most: int) -> Answer:
        """One answer of at most so many tokens."""
        if self._anthropic:
            return self._ask_anthropic(system, question, most)
        spoken = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        body = {"model": self.model, "messages": spoken, "max_tokens": most, "temperature": 0}
        reply = self._post("/chat/completions", body, headers)
        usage = reply.get("usage") or {}
        text = reply["choices"][0]["message"]["content"]
        return Answer(text or "", usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0))

    def _ask_anthropic(self, system: str, question: str, most: int) -> Answer:
        spoken = [{"role": "user", "content": question}]
        headers = {"x-api-key": self._key, "anthropic-version": _VERSION}
        body = {"model": self.model, "system": system, "messages": spoken, "max_tokens": most}
        reply = self._post("/v1/messages", body, headers)
        usage = reply.get("usage") or {}
        text = "".join(part.get("text", "") for part in reply["content"])
        return Answer(text, usage.get("input_tokens", 0), usage.get("output_tokens", 0))

    def _post(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
        request = urllib.request.Request(  # noqa: S310 - http or https, checked above
            self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"} | headers
        )
        try:
            with self._opener.open(request, timeout=_SECONDS) as response:
                reply: dict[str, Any] = json.loads(response.read(_LARGEST))
                return reply
        except urllib.error.HTTPError as refused:
            raise errors.Unavailable(
                f"The model's server answered {refused.code}.", hint="Check --model, its key and its limits."
            ) from None
        except (OSError, ValueError) as away:
            raise errors.Unavailable(
                f"The model's server does not answer ({type(away).__name__}).", hint="Check --model."
            ) from away


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Code goes to the address that was named and to no other."""
