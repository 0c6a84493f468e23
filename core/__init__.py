"""The prompt engine. Nothing is imported here: `import core` costs nothing; import the door you need."""
