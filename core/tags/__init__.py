"""The tag vocabulary of a persona: normal forms, aliases, links."""

from .table import load as load
