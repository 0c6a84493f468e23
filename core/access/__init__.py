"""Who sees what: audiences, conversations, participants, and the one statement that works out what a scope sees."""
