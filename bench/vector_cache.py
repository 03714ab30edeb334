"""An embedding model with a cache on disk, so that a second run measures the search and not the model."""

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np


class CachedModel:
    patience = None

    def __init__(self, model: Any, path: Path) -> None:
        self._model, self._path, self.floor = model, path.with_suffix(".npz"), model.floor
        self.relevance = model.relevance
        kept = np.load(self._path) if self._path.exists() else {}
        self._known = dict(zip(kept["keys"].tolist(), kept["values"], strict=True)) if kept else {}

    @classmethod
    async def install_in(cls, engine: Any, path: Path) -> None:
        model = await engine.load_model(engine.choice)
        engine._models[engine.choice] = await asyncio.to_thread(cls, model, path)  # noqa: SLF001

    def can_read(self, text: str) -> bool:
        return self._model.can_read(text)

    def list_known_words(self, text: str) -> frozenset[str]:
        return self._model.list_known_words(text)

    def embed_question(self, question: str) -> Any:
        """Computed anew: what a question costs is measured."""
        return self._model.embed_question(question)

    def embed(self, texts: Sequence[str]) -> Any:
        keys = [hashlib.sha256(text.encode()).hexdigest()[:24] for text in texts]
        missing = [place for place, key in enumerate(keys) if key not in self._known]
        if missing:
            made = self._model.embed([texts[place] for place in missing])
            self._known |= {
                keys[place]: vector.astype(np.float16) for place, vector in zip(missing, made, strict=True)
            }
            self._unsaved = getattr(self, "_unsaved", 0) + len(missing)
            if self._unsaved > 2000:
                self.save()
        return np.array([self._known[key] for key in keys]).astype(np.float32)

    def save(self) -> None:
        np.savez(self._path, keys=np.array(list(self._known)), values=np.array(list(self._known.values())))
        self._unsaved = 0
