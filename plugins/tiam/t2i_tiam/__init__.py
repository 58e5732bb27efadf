"""TIAM: are the objects of the prompt in the image, and in their colours?"""
