"""Files that users write: prompts, tables, YAML."""
