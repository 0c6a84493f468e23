"""The tag vocabulary of a persona: tags in normal form, aliases, links."""
