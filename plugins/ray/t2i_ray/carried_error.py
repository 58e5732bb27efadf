"""Errors of t2i on their way from a worker to the driver."""

from __future__ import annotations

import pickle

from t2i_core.api import errors
from t2i_core.api.errors import BrokenPlugin, T2IError


def carry_error(error: T2IError) -> T2IError:
    """Return an error that the driver can unpickle.

    It is the same one if its class is core's own. Else it has the nearest of core's classes and the same message,
    because the driver may not have the plugin's module.
    """
    if type(error).__module__ == errors.__name__:
        try:
            pickle.dumps(error)
        except Exception:  # whatever its fields hold
            pass
        else:
            return error
    for base in type(error).__mro__:
        if base.__module__ == errors.__name__ and base is not T2IError:
            try:
                return base(str(error))  # type: ignore[no-any-return]
            except TypeError:  # it takes fields instead of a message
                continue
    return BrokenPlugin(str(error))
