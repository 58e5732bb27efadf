"""The capabilities of core: a module each, named as the capability, with its class and its adapters."""
