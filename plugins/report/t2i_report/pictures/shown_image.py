"""An image that a run requested, as pages show it."""

from __future__ import annotations

from dataclasses import dataclass

from t2i_core.api.image import Image


@dataclass(frozen=True)
class ShownImage:
    """A requested image.

    Attributes:
        model: Name of the model.
        prompt: Id of the prompt.
        text: Text of the prompt.
        seed: The seed.
        picture: The image, or None.
        why: The reason for the missing image.
        size: Width and height of the image in pixels, or None.
    """

    model: str
    prompt: str
    text: str
    seed: int
    picture: Image | None
    why: str = ""
    size: tuple[int, int] | None = None

    @property
    def may_be_shown(self) -> bool:
        """True if it has a picture that may be read."""
        return self.picture is not None and self.picture.refused is None

    @property
    def is_there(self) -> bool:
        """True if it has a picture that may be read, and its file was not removed."""
        return self.picture is not None and self.may_be_shown and self.picture.path.is_file()

    @property
    def prompt_key(self) -> str:
        """Id and text of the prompt; prompts of different runs may have the same id."""
        return f"{self.prompt}\0{self.text}"
