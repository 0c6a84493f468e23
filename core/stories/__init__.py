"""Long stories in a small context: recaps of messages, scenes, the running recap, hidden messages.

A message is named by the row id that saving returned, or by the platform's id together with `interface_path`; a
`conversation` by its key, where None means the scope's. A function raises MessageError if a value cannot be used,
StoreReadError if nothing could be read, and StoreWriteError if nothing was changed.

>>> from prompt_engine import chat_history_cache, open_database, stories
>>> db = open_database("sqlite://")
>>> message = chat_history_cache.save_chat_message("web/42", "Ann left the house.", sender_id="ann", db=db).id
>>> stories.edit_memory(message, "Ann left.", db=db).stored, stories.get_memory(message, db=db)
(True, 'Ann left.')
>>> stories.refresh_memory("web/42", db=db)["included"] == [message]
True
>>> stories.add_scene_break(message, "The harbour", db=db).stored
True
>>> stories.set_scene_recap(message, "Ann left for the harbour.", db=db).stored
True
>>> [(scene["name"], scene["recap"]) for scene in stories.list_scenes("web/42", db=db)]
[('The harbour', 'Ann left for the harbour.')]
>>> stories.add_running_recap_version("The story so far.", conversation="web/42", db=db)
0
>>> stories.get_running_recap(conversation="web/42", db=db)["content"]
'The story so far.'
"""

from ..context.injection import Injection, from_number, to_number, to_numbers
from .alternatives import AlternativeShown, add_alternative, choose_alternative, list_alternatives
from .refresh import (
    auto_hide_plan,
    check_message_exclusion,
    concatenate_recap,
    get_short_token_limit,
    update_message_inclusion_flags,
)
from .rules_recaps import HidePlan
from .running import (
    Refreshed,
    RunningRecapStorage,
    RunningRecapVersion,
    add_running_recap_version,
    delete_running_recap_version,
    get_running_recap,
    get_running_recap_injection,
    get_running_recap_storage,
    get_running_recap_versions,
    refresh_memory,
    set_current_running_recap,
    switch_stories,
)
from .scenes import SceneInfo, add_scene_break, edit_scene_break, list_scenes, remove_scene_break, set_scene_recap
from .values import clear_all, edit_memory, get_data, get_memory, queue_recaps, set_data

__all__ = ["AlternativeShown", "HidePlan", "Injection", "Refreshed", "RunningRecapStorage",
           "RunningRecapVersion", "SceneInfo", "add_alternative",
           "add_running_recap_version", "add_scene_break", "auto_hide_plan",
           "check_message_exclusion", "choose_alternative", "clear_all", "concatenate_recap",
           "delete_running_recap_version", "edit_memory", "edit_scene_break",
           "from_number", "get_data", "get_memory", "get_running_recap",
           "get_running_recap_injection", "get_running_recap_storage", "get_running_recap_versions",
           "get_short_token_limit", "list_alternatives",
           "list_scenes", "queue_recaps", "refresh_memory", "remove_scene_break",
           "set_current_running_recap", "set_data", "set_scene_recap", "switch_stories",
           "to_number", "to_numbers", "update_message_inclusion_flags"]  # fmt: skip
