"""The handlers of story operations, by the names under which `core.jobs.handlers` knows them."""

from core.stories.recaps.handlers import recap
from core.stories.running.handlers import running_scene_recap
from core.stories.scenes.detection import scene_detection
from core.stories.scenes.recaps import scene_recap

__all__ = ["recap", "running_scene_recap", "scene_detection", "scene_recap"]
