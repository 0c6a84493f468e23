"""Memory over the Model Context Protocol: `prompt-engine mcp` and `prompt-engine serve --mcp`. Extra `mcp`."""
