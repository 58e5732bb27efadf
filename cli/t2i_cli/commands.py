"""The root command: own commands beside those of plugins, and errors in one line with their exit codes."""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING, Any

import typer
from t2i_core.api.errors import BrokenPlugin, T2IError
from t2i_core.api.terminal import write_line
from t2i_core.api.text import describe_error, escape_control_characters
from typer.core import TyperCommand, TyperGroup

from .interrupts import find_exit_code
from .quick_command import QuickGroup

if TYPE_CHECKING:
    from t2i_registry import Entry

DEBUG_VARIABLE = "T2I_DEBUG"

UsageError: type[Exception] = typer.BadParameter.mro()[1]
"""A command line that is none, in one line, exit code 2; Typer raises it too, and does not export the name."""


class RootGroup(QuickGroup):
    """Commands by name. A plugin's command is loaded when it is called or asked for help, not to be listed."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of own commands, then of plugins' commands."""
        return list(dict.fromkeys([*super().list_commands(ctx), *(e.name for e in _list_plugin_commands())]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return an own command, or what stands for a plugin's until it is called."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        entry = next((e for e in _list_plugin_commands() if e.name == cmd_name), None)
        return (
            None
            if entry is None
            else TyperCommand(cmd_name, help=escape_control_characters(f"{entry.summary} ({entry.dist})"))
        )

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is called; here a plugin's is loaded."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is None or super().get_command(ctx, name) is not None:
            return name, command, rest
        try:
            return name, _load_command(name), rest
        except T2IError:
            if ctx.resilient_parsing:  # a shell completes words: a broken plugin has none to offer
                return name, command, rest
            raise

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Read the root's own options; a wrong one ends in one line."""
        try:
            return super().make_context(*args, **more)
        except UsageError as error:
            raise _report_misuse(error) from error

    def invoke(self, ctx: Any) -> Any:
        """Run a command; what a user can mend ends in one line and the error's exit code."""
        try:
            return super().invoke(ctx)
        except UsageError as error:
            raise _report_misuse(error) from error
        except (KeyboardInterrupt, T2IError) as error:
            _show_traceback()
            if (interrupted := find_exit_code(error)) is not None:
                say_error("interrupted")
                raise typer.Exit(interrupted) from error
            say_error(str(error))
            raise typer.Exit(error.exit_code) from error  # type: ignore[union-attr]


class DefaultGroup(TyperGroup):
    """A group that runs its first command if none is named: `t2i runs DIR` is `t2i runs list DIR`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words, with the first command's name before them if they name none."""
        if not args or args[0] not in (*self.commands, *ctx.help_option_names):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


def run_safely(command: Any) -> None:
    """Run the root command; a fault of t2i itself is said in one line that can be reported."""
    try:
        command(prog_name="t2i")
    except BrokenPipeError:
        # whoever read our output has gone; nothing is left to be said to them
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        _show_traceback()
        if (code := find_exit_code(error)) is not None:
            say_error("interrupted")
            sys.exit(code)
        frame = traceback.extract_tb(error.__traceback__)[-1]
        say_error(
            f"a fault in t2i itself, please report it: {describe_error(error)} [{frame.filename}:{frame.lineno}] "
            f"({DEBUG_VARIABLE}=1 or --debug shows the traceback)"
        )
        sys.exit(1)


def say_error(message: str, command: str = "") -> None:
    """Write one line to standard error, a command at its end to the letter."""
    write_line(f"error: {' '.join(message.split())}{command and ': '}{command}", err=True)


def _report_misuse(error: Any) -> typer.Exit:
    """Say what is wrong with a command line, and where its right form is shown."""
    path = error.ctx.command_path if error.ctx else "t2i"
    message = error.format_message().replace("Value error, ", "").rstrip(".")  # pydantic's prefix
    say_error(f"{message} (see `{path} --help`)")
    return typer.Exit(error.exit_code)


def _show_traceback() -> None:
    if os.environ.get(DEBUG_VARIABLE):
        for line in traceback.format_exc().splitlines():
            write_line(line, err=True)


def _list_plugin_commands() -> tuple[Entry, ...]:
    from t2i_registry import scan

    return scan().commands


def _load_command(name: str) -> Any:
    from t2i_registry import Registry

    registry = Registry()
    app = registry.load_command(name)
    if not isinstance(app, typer.Typer):
        origin = registry.find("command", name).origin
        raise BrokenPlugin(f"plugin {origin}: its command {name!r} is a {type(app).__name__}, want a typer.Typer")
    return typer.main.get_command(app)
