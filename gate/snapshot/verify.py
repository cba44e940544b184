"""A snapshot against its manifest and against the digest that the configuration pins."""

from __future__ import annotations

from pathlib import Path

from gate.errors import InvalidInput
from gate.snapshot.files import measure, walk
from gate.snapshot.lfs import check_pulled
from gate.snapshot.manifest import NAME, Manifest, is_digest, read_manifest


def _pinned(directory: Path, manifest: Manifest, expected: str, option: bool) -> None:
    if option and not is_digest(expected):
        raise InvalidInput(f"--digest must be sha256: and 64 hex digits, not {expected[:100]!r}",
                           "`retrieval-gate snapshot show` prints the digest of a snapshot")
    real = manifest.tree_digest
    if real != expected and option:
        raise InvalidInput(f"{directory}: is snapshot {real}, not the one that --digest names, {expected}",
                           "fetch the snapshot that is meant, or give its digest")
    if real != expected:
        raise InvalidInput(f"{directory}: is snapshot {real}, but the configuration pins {expected}",
                           f"fetch the pinned snapshot, or, when the new one is meant, set `snapshot.digest` to {real}")


def _compare(directory: Path, manifest: Manifest) -> list[str]:
    problems: list[str] = []
    found = {name: path for name, path in walk(directory, problems) if name != NAME}
    for name, facts in sorted(manifest.files.items()):
        path = found.pop(name, None)
        if path is None:
            problems.append(f"{directory / name}: is missing")
            continue
        real = measure(path, facts.bytes)
        if real.bytes != facts.bytes:
            # Reading stopped at the first byte too many, so only «larger» is known then.
            size = f"larger than {facts.bytes} bytes" if real.bytes > facts.bytes else f"{real.bytes} of {facts.bytes} bytes"
            problems.append(f"{path}: differs from the manifest ({size})")
        elif real.sha256 != facts.sha256:
            problems.append(f"{path}: differs from the manifest (sha256 {real.sha256[:12]}…, not {facts.sha256[:12]}…)")
    problems += [f"{path}: is not listed in the manifest" for path in found.values()]
    return problems


def verify(directory: str | Path, expected_digest: str | None = None, option: bool = False) -> Manifest:
    """Check every file of a snapshot; with ``expected_digest`` (``sha256:…``) also that it is the pinned one.

    ``option``: the digest is that of the option --digest, not the configuration's; errors speak of it, and of its form as well.
    Raises :class:`InvalidInput` that names every file that differs, is missing, is not listed, or is not a regular file.
    """
    directory = Path(directory)
    if directory.is_dir():
        check_pulled(directory, [path for _, path in walk(directory, [])])
    manifest = read_manifest(directory)
    if expected_digest is not None:
        _pinned(directory, manifest, expected_digest, option)
    if problems := _compare(directory, manifest):
        raise InvalidInput(problems, "build the snapshot again, or fetch it again; a snapshot is never changed in place")
    return manifest
