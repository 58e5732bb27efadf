"""A library for plugins that make or serve web pages: their look, templates, access control and server."""
