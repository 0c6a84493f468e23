"""The handlers of story operations, by the names under which `jobs.handlers` knows them."""

from .recaps.handlers import recap
from .running.handlers import running_scene_recap
from .scenes.handlers import scene_detection, scene_recap

__all__ = ["recap", "running_scene_recap", "scene_detection", "scene_recap"]
