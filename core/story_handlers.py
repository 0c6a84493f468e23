"""The handlers of story operations, by the names under which `core.jobs.handlers` knows them."""

from core.story.combining import running_scene_recap
from core.story.detection import scene_detection
from core.story.recap_handler import recap
from core.story.scene_recapping import scene_recap

__all__ = ["recap", "running_scene_recap", "scene_detection", "scene_recap"]
