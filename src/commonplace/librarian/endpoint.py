"""A language model behind HTTP: any OpenAI-compatible server, or Anthropic's API.

This is the only module that sends source code to another host.
"""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from commonplace import errors

_TIMEOUT_SECONDS = 120
_MAX_REPLY_BYTES = 4_000_000
_ANTHROPIC = "anthropic"
_ANTHROPIC_URL = "https://api.anthropic.com"
_ANTHROPIC_VERSION = "2023-06-01"


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The text of an answer and what it cost in tokens; 0 where the server does not count."""

    text: str
    prompt_tokens: int
    completion_tokens: int

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


class ModelEndpoint:
    """`choice` is URL#model, anthropic#model, or anthropic+URL#model."""

    def __init__(self, choice: str, key: str) -> None:
        address, _, self.model = choice.partition("#")
        kind, plus, rest = address.partition("+")
        self._is_anthropic = address == _ANTHROPIC or (kind == _ANTHROPIC and bool(plus))
        self.url = (
            rest if plus and self._is_anthropic else _ANTHROPIC_URL if self._is_anthropic else address
        ).rstrip("/")
        if urlsplit(self.url).scheme not in ("http", "https") or not self.model:
            raise errors.Invalid(
                f"'{choice}' is not a valid model.",
                hint="Pass --model URL#MODEL or anthropic#MODEL, for example http://127.0.0.1:11434/v1#qwen3.",
            )
        self._key = key
        self._opener = urllib.request.build_opener(_RedirectRefuser)

    def ask_model(self, system: str, question: str, max_tokens: int) -> ModelAnswer:
        """Return one answer of at most `max_tokens`."""
        if self._is_anthropic:
            return self._ask_anthropic(system, question, max_tokens)
        messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        body = {"model": self.model, "messages": messages, "max_tokens": max_tokens, "temperature": 0}
        reply = self._post_json("/chat/completions", body, headers)
        usage = reply.get("usage") or {}
        text = reply["choices"][0]["message"]["content"]
        return ModelAnswer(text or "", usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0))

    def _ask_anthropic(self, system: str, question: str, max_tokens: int) -> ModelAnswer:
        messages = [{"role": "user", "content": question}]
        headers = {"x-api-key": self._key, "anthropic-version": _ANTHROPIC_VERSION}
        body = {"model": self.model, "system": system, "messages": messages, "max_tokens": max_tokens}
        reply = self._post_json("/v1/messages", body, headers)
        usage = reply.get("usage") or {}
        text = "".join(part.get("text", "") for part in reply["content"])
        return ModelAnswer(text, usage.get("input_tokens", 0), usage.get("output_tokens", 0))

    def _post_json(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
        request = urllib.request.Request(  # noqa: S310 - http or https, checked above
            self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"} | headers
        )
        try:
            with self._opener.open(request, timeout=_TIMEOUT_SECONDS) as response:
                reply: dict[str, Any] = json.loads(response.read(_MAX_REPLY_BYTES))
                return reply
        except urllib.error.HTTPError as error:
            raise errors.Unavailable(
                f"The model server answered HTTP {error.code}.",
                hint="Check --model, the key in COMMONPLACE_LIBRARIAN_KEY, and the server's rate limits.",
            ) from None
        except (OSError, ValueError) as error:
            raise errors.Unavailable(
                f"The model server does not answer ({type(error).__name__}).",
                hint=f"Check that {self.url} is reachable, or pass another --model.",
            ) from error


class _RedirectRefuser(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Refuse redirects: code is sent only to the configured address."""
