"""Sets of keys in little memory behave as sets."""

from __future__ import annotations

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st
from t2i_core.engine.key_set import KeySet

keys = st.integers(0, 30).map(lambda n: (sha256(bytes([n])).digest()[: n % 4] + bytes(32))[:32].hex())
"""Keys many of which end with zero bytes, or are all zero."""


@given(st.lists(keys), st.lists(keys))
def test_it_behaves_as_a_set(there: list[str], asked: list[str]) -> None:
    packed, wanted = KeySet(bytearray().join(map(bytes.fromhex, there))), set(there)
    assert packed.select(asked) == [key for key in asked if key in wanted]
    for key in asked:
        assert packed.discard(key) is (key in wanted)
        wanted.discard(key)
        assert len(packed) == len(wanted)
    assert packed.select(there) == [key for key in there if key in wanted]
