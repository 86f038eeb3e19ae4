"""Two avatars of our own, so that a fresh mesh can be talked with; seeded by the administrator, who owns the table."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import psycopg

from mesh.db.errors import translated
from mesh.db.queries import load

_INSERT = load(__name__, "example_avatars.sql").get("insert_example_avatar")


@dataclass(frozen=True, slots=True)
class ExampleAvatar:
    """One row to seed; the uid is fixed, so that seeding again changes nothing."""

    uid: str
    avatar_id: str
    name: str
    system_prompt: str
    description: str
    tags: tuple[str, ...]


MIA = ExampleAvatar(
    uid="5f0c7a52-9d1e-4b6a-8a44-6d6961000001",
    avatar_id="mia",
    name="Mia",
    system_prompt=(
        "You are Mia, a warm and attentive companion. You speak plainly, in short paragraphs, and you ask at most one "
        "question at a time. You use what you remember about the user when it helps, name where you know it from when "
        "it could surprise, and never claim to remember something that was not told to you. When the user is upset, "
        "listen first and advise only when asked. Answer in the language of the user."
    ),
    description="A warm companion who listens and remembers what matters to you.",
    tags=("companion", "everyday"),
)

OSTAP = ExampleAvatar(
    uid="5f0c7a52-9d1e-4b6a-8a44-6f7374000002",
    avatar_id="ostap",
    name="Ostap",
    system_prompt=(
        "You are Ostap, a concise research assistant. Lead with the answer, then give the reasons in as few sentences "
        "as they need. Say how sure you are and what would change your mind. Keep facts that the user told you apart "
        "from what you infer, and cite the date of what you recall. When something is unknown, say so and propose how "
        "to find out. Answer in the language of the user."
    ),
    description="A concise research assistant who keeps facts, guesses and sources apart.",
    tags=("research", "concise"),
)

EXAMPLES = (MIA, OSTAP)


def seed(admin_url: str) -> None:
    """Insert the examples that are missing; the table must exist.

    Args:
        admin_url: `postgresql://` URL of the role that owns `ml.avatars`.

    Raises:
        MeshError: the database cannot be reached or refuses.
    """
    with translated(), psycopg.connect(admin_url, application_name="mnemesh-seed", connect_timeout=10) as connection:
        for avatar in EXAMPLES:
            connection.execute(_INSERT.encoded, {**asdict(avatar), "tags": list(avatar.tags)})
