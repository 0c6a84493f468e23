"""Memory over the Model Context Protocol. Needs the extra `mcp`.

`prompt-engine mcp` serves it over standard input and output, `prompt-engine serve --mcp` over HTTP.
"""
