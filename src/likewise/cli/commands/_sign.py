"""``likewise sign``: a detached signature of a record or a plan, by a key that signer and checker share."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import typer

from likewise._folders import hash_file
from likewise._json import plain
from likewise.cli import _options as shared
from likewise.cli._console import one_line
from likewise.cli._options import KEY, argument, option, takes
from likewise.cli._outputs import check_file_target, load_json, now, write_text
from likewise.exceptions import LikewiseError
from likewise.record._internal import FormError, read_as

HELP: Final = """Sign a record or a plan with a key file, or check a signature.

[bold]Examples[/bold]

  likewise sign --new-key audit.key

  likewise sign audit/audit.json --key audit.key

  likewise sign audit/audit.json --key audit.key --check

The signature (HMAC-SHA256 of the file's SHA-256 and the time) is a file of its own, beside the signed one, whose name \
ends in .sig. Signer and checker share the key: it shows that a file came from somebody who has the key and is \
unchanged since, not which of them. Keep it as you keep a password. [bold]likewise verify --key[/bold] checks the \
signature of a record and recomputes it.

The exit code is 0 when the file is signed or its signature is right; 1 when --check finds a wrong signature; 2 on \
invalid arguments or an unreadable file.
"""
FORMAT: Final = "likewise signature 1"
ALGORITHM: Final = "HMAC-SHA256"
KEY_PREFIX: Final = "likewise-key-1 "
KEY_BYTES: Final = 32
KEY_FORM: Final = re.compile(rf"{KEY_PREFIX}([0-9a-f]{{{2 * KEY_BYTES}}})\n?")
WRONG: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOptions:
    """What to sign, and by which key."""

    file: Path | None = argument("[FILE]", "The audit.json or plan.json to sign.", None)
    key: Path | None = option(None, KEY, "FILE", "Key file.")
    new_key: Path | None = option(None, KEY, "FILE", "Write a new random key there, readable by you alone.")
    check: bool = option(False, KEY, "", "Check the signature beside the file instead of writing one.")
    quiet: bool = shared.QUIET()


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A signature, as its file holds it."""

    algorithm: str
    key_id: str
    signed_at: str
    sha256: str
    signature: str = ""

    def compute(self, key: bytes) -> str:
        """Return the authentication code of everything but itself."""
        signed = {name: one for name, one in plain(self).items() if name != "signature"}
        message = json.dumps({"format": FORMAT, **signed}, sort_keys=True).encode()
        return hmac.new(key, message, hashlib.sha256).hexdigest()


@takes(options=SignOptions)
def sign(options: SignOptions) -> int:
    """Write a key, sign a file, or check a signature."""
    if options.new_key is not None:
        if options.file is not None or options.key is not None or options.check:
            raise typer.BadParameter("it makes a key and signs nothing; leave out the rest.", param_hint="--new-key")
        _write_key(options.new_key)
        _tell(options, f"The key is {options.new_key}. Keep it secret: whoever has it can sign.")
        return 0
    if options.file is None or options.key is None:
        raise typer.BadParameter("name the file to sign and its --key, or make one with --new-key.", param_hint="FILE")
    key, target = read_key(options.key), signature_file(options.file)
    if options.check:
        wrong = check_signature(options.file, key)
        for line in wrong or [
            f"The signature of '{options.file}' is that of the key, and the file is as it was signed."
        ]:
            typer.echo(one_line(line))
        return WRONG if wrong else 0
    check_file_target(target, options.file, options.key)
    made = Signature(algorithm=ALGORITHM, key_id=_key_id(key), signed_at=now(), sha256=hash_file(options.file))
    signed: dict[str, Any] = {"format": FORMAT, **plain(made), "signature": made.compute(key)}
    write_text(target, json.dumps(signed, indent=2) + "\n")
    _tell(options, f"The signature is {target}.")
    return 0


def check_signature(file: Path, key: bytes) -> list[str]:
    """List what is wrong with the signature beside a file."""
    place = signature_file(file)
    if not place.exists():
        raise LikewiseError(f"There is no signature '{place}'. Sign '{file}' with likewise sign, or leave out --key.")
    found = _read_signature(place)
    if found.key_id != _key_id(key):
        return [f"'{file}' was signed with another key: {found.key_id}, not {_key_id(key)}."]
    if not hmac.compare_digest(found.signature.encode(), found.compute(key).encode()):
        return [f"The signature '{place}' was altered: it is not one of this key."]
    return list(_compare_checksums(file, found))


def read_key(path: Path) -> bytes:
    """Read a key file; refuse one that others may read."""
    try:
        mode = path.stat().st_mode
        found = KEY_FORM.fullmatch(path.read_bytes()[:200].decode("ascii", "replace"))
    except OSError as error:
        raise LikewiseError(f"The key '{path}' cannot be read: {error.strerror or error}.") from error
    if found is None:
        raise LikewiseError(f"'{path}' is not a key of likewise. Make one with likewise sign --new-key FILE.")
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise LikewiseError(f"The key '{path}' is open to other users. Run chmod 600 on it, or make a new one.")
    return bytes.fromhex(found[1])


def signature_file(file: Path) -> Path:
    """Return where the signature of a file lies."""
    return file.with_name(f"{file.name}.sig")


def _write_key(path: Path) -> None:
    try:
        place = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise LikewiseError(
            f"--new-key is '{path}', which exists. A key is not overwritten: name another file."
        ) from None
    except OSError as error:
        raise LikewiseError(f"The key '{path}' cannot be written: {error.strerror or error}.") from error
    try:
        with os.fdopen(place, "w", encoding="ascii") as file:
            file.write(f"{KEY_PREFIX}{secrets.token_hex(KEY_BYTES)}\n")
    except OSError as error:  # a full disk: half a key is none
        path.unlink()
        raise LikewiseError(f"The key '{path}' cannot be written: {error.strerror or error}.") from error


def _key_id(key: bytes) -> str:
    """Return a name by which keys are told apart, from which no key can be computed."""
    return hmac.new(key, b"likewise key id", hashlib.sha256).hexdigest()[:16]


def _read_signature(path: Path) -> Signature:
    data = load_json(path, "a signature", ".sig file")
    try:
        known_as = data.get("format") if isinstance(data, dict) else None
        if known_as != FORMAT:
            raise FormError(f"its format is {known_as!r}, not {FORMAT!r}")
        found = read_as(Signature, data)
        if found.algorithm != ALGORITHM:
            raise FormError(f"its algorithm is {found.algorithm[:40]!r}, not {ALGORITHM!r}")
    except FormError as error:
        raise LikewiseError(f"'{path}' is not a signature: {error}. Sign the file again.") from error
    return found


def _compare_checksums(file: Path, found: Signature) -> Iterator[str]:
    now_is = hash_file(file)
    if now_is != found.sha256:
        yield f"'{file}' was changed after it was signed at {found.signed_at}."
        yield f"  SHA-256 signed  {found.sha256}"
        yield f"  SHA-256 found   {now_is}"


def _tell(options: SignOptions, line: str) -> None:
    if not options.quiet:
        typer.echo(one_line(line), err=True)
