"""Web page on which people vote."""
