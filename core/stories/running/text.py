"""A running recap in parts as one text: what is stored, shown and counted."""

from __future__ import annotations

from ...templates.render import Renderer
from .parts import Story


def show(story: Story, renderer: Renderer) -> str:
    """Return a recap in parts as one text."""
    entities = [f"{name}: {said}" if said else name for name, said in story.entities]
    return renderer.text(
        "running_recap_parts.txt.j2",
        developments=list(story.developments),
        open=list(story.open),
        state=story.state,
        entities=entities,
    ).strip()
