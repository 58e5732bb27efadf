"""The kinds of things, family by family: bodies by `shapes`, natural coats, paint and pose."""
