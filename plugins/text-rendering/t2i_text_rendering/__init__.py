"""A metric of words in images: are those there that the prompt asks for?"""
