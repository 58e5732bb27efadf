"""Files that users wrote: prompts, tables, YAML."""
