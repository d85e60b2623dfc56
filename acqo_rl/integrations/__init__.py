"""Adapters for LangChain and the Model Context Protocol (MCP).

Each module needs the extra of the same name; importing it without its packages raises an error that names the extra.
"""
