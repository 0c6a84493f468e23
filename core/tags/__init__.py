"""The tag vocabulary of a persona: normal forms, aliases, links."""
