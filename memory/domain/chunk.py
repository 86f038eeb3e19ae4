"""Chunks: pieces of raw evidence, as they were said or written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum

from memory.domain.chunking import split_text
from memory.domain.lexical import Lexemes, lexemes
from mesh.kernel.ids import new_id

BLOCK_CHUNKS = 32
"""Messages in a row whose words are gathered in one row, to narrow huge scopes."""


def block_of(ordinal: int) -> int:
    """Return the block of a dialog that a message's position belongs to."""
    return ordinal // BLOCK_CHUNKS


class ChunkSource(StrEnum):
    """Where a chunk's text comes from."""

    PROFILE = "profile"
    PHOTO = "photo"
    NOTE = "note"
    CONVERSATION = "conversation"
    SUMMARY = "summary"


class Direction(StrEnum):
    """Who sent a message, seen from the one who remembers."""

    INCOMING = "incoming"
    OUTGOING = "outgoing"


@dataclass(frozen=True, slots=True)
class Dialog:
    """A dialog of a user.

    Args:
        user_id: its owner.
        dialog_key: its key.
        avatar_id: the avatar that it belongs to; None when there is none.
    """

    user_id: str
    dialog_key: str
    avatar_id: str | None


@dataclass(frozen=True, slots=True)
class Message:
    """A message to remember; lengths were checked at the contract.

    Args:
        source_id: the message's id at its source, unique in the dialog.
        speaker: who said it; empty when unknown.
        text: what was said.
        sent_at: when, UTC.
        session: the part of the dialog in which it was said; chunks of one session are neighbours.
        direction: who sent it; None when unknown.
        image_caption: what an image that came with it shows; empty without one.
        turn_id: UUID of the turn that it was learned from; None otherwise.
    """

    source_id: str
    speaker: str
    text: str
    sent_at: datetime
    session: str = ""
    direction: Direction | None = None
    image_caption: str = ""
    turn_id: str | None = None

    @property
    def body(self) -> str:
        """The text with the caption in the form in which prompts show images (L7)."""
        return f"{self.text} [Image: {self.image_caption}]" if self.image_caption else self.text


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A chunk to store.

    Args:
        id: UUID.
        content_hash: `content_hash` of the chunk.
        source: where its text comes from.
        part: index of the piece within its message, from 0.
        text: the piece.
        lexemes: what the lexical arm stores of it.
        message: the message that it is a piece of.
        tags: words to filter by, the source among them (S3).
    """

    id: str
    content_hash: bytes
    source: ChunkSource
    part: int
    text: str
    lexemes: Lexemes
    message: Message
    tags: tuple[str, ...] = ()

    @property
    def embedded_text(self) -> str:
        """What the embedder reads: the piece, with its speaker as a script of the dialog would have it."""
        return f"{self.message.speaker}: {self.text}" if self.message.speaker else self.text


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk as it is stored; the fields are the columns."""

    id: str
    dialog_key: str
    avatar_id: str | None
    source: ChunkSource
    source_id: str
    part: int
    session: str
    speaker: str
    text: str
    direction: Direction | None
    sent_at: datetime | None
    tags: list[str] = field(default_factory=list)
    created_at: datetime | None = None
    compose_mode: str = "both"
    language: str | None = None
    note_date: date | None = None

    def __post_init__(self) -> None:
        # Columns come as plain text.
        object.__setattr__(self, "source", ChunkSource(self.source))
        object.__setattr__(self, "direction", Direction(self.direction) if self.direction else None)


def content_hash(dialog_key: str, source: ChunkSource, source_id: str, text: str) -> bytes:
    """Return what makes a chunk the same chunk: 32 bytes. Source: S1, sha256(dialogKey + source + sourceId + text)."""
    return hashlib.sha256(f"{dialog_key}{source}{source_id}{text}".encode()).digest()


def chunks_of(dialog_key: str, messages: Iterable[Message], limit: int) -> list[NewChunk]:
    """Return the chunks of messages, in order. A piece that a message repeats word by word is one chunk.

    Args:
        dialog_key: the dialog that they belong to.
        messages: in the order in which they were said.
        limit: most characters of a chunk.
    """
    made: dict[bytes, NewChunk] = {}
    for message in messages:
        for part, text in enumerate(split_text(message.body, limit)):
            digest = content_hash(dialog_key, ChunkSource.CONVERSATION, message.source_id, text)
            if digest not in made:
                made[digest] = _conversation_chunk(digest, part, text, message)
    return list(made.values())


def _conversation_chunk(digest: bytes, part: int, text: str, message: Message) -> NewChunk:
    return NewChunk(
        id=new_id(),
        content_hash=digest,
        source=ChunkSource.CONVERSATION,
        part=part,
        text=text,
        lexemes=lexemes(f"{message.speaker}: {text}", speaker=message.speaker),
        message=message,
        tags=(ChunkSource.CONVERSATION.value,),
    )
