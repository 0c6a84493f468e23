"""Public functions that list, count and name conversations, people and personas."""

from .table_overview import ConversationCount as ConversationCount
from .table_overview import choose_persona as choose_persona
from .table_overview import count_places as count_places
from .table_overview import find_conversation as find_conversation
from .table_overview import list_conversations as list_conversations
from .table_overview import list_people as list_people
from .table_overview import list_personas as list_personas
from .table_overview import name_near as name_near
from .table_overview import read_identities as read_identities
from .table_overview import read_names as read_names
from .table_overview import read_titles as read_titles
