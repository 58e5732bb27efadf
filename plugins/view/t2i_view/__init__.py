"""The command `t2i view`: a page over many runs, which only reads them."""
