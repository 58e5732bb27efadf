"""The root command: t2i's commands and those of plugins, and errors as one line with an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING, Any

import typer
from t2i_core.api.command import is_marked
from t2i_core.api.errors import BrokenPlugin, T2IError, did_you_mean
from t2i_core.api.terminal import write_line
from t2i_core.api.text import describe_error, escape_control_characters
from t2i_core.files.home_folder import expand_home
from typer.core import TyperCommand, TyperGroup

from .command_summary import read_summary
from .interrupts import find_exit_code
from .quick_command import QuickGroup

if TYPE_CHECKING:
    from t2i_registry import Entry, Registry

DEBUG_VARIABLE = "T2I_DEBUG"

UsageError: type[Exception] = typer.BadParameter.mro()[1]
"""A command line that is not valid; exit code 2. Typer raises this class but does not export its name."""


class RootGroup(QuickGroup):
    """The commands by name. A plugin's command is loaded when it runs or shows its help, not for listing."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of t2i's commands, then of plugins' commands."""
        return list(dict.fromkeys([*super().list_commands(ctx), *(e.name for e in _list_plugin_commands())]))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        _hide_flag_types(self, ctx)
        super().format_help(ctx, formatter)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command of t2i, or a placeholder for a plugin's command until it is called."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        entry = next((e for e in _list_plugin_commands() if e.name == cmd_name), None)
        if entry is None:
            return None
        summary = read_summary(entry.module) or entry.summary
        return TyperCommand(cmd_name, help=escape_control_characters(f"{summary} ({entry.dist})"))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is called; load it if a plugin provides it. Expand `~` in its words."""
        args = [_expand_home(word) for word in args]
        name, command, rest = super().resolve_command(ctx, args)
        try:
            if name is not None and super().get_command(ctx, name) is None:
                command = _load_command(name)
        except T2IError:
            if ctx.resilient_parsing:  # shell completion: a broken plugin offers no words
                return name, command, rest
            raise
        if command is not None:
            _hide_flag_types(command, ctx)
        return name, command, rest

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Parse the root's options; report a usage error in one line."""
        try:
            return super().make_context(*args, **more)
        except UsageError as error:
            raise _report_misuse(error) from error

    def invoke(self, ctx: Any) -> Any:
        """Run a command; report errors that users can fix in one line, with the error's exit code."""
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
        """Parse the arguments; put the first command's name before them if they name no command."""
        if not args or args[0] not in (*self.commands, *ctx.help_option_names):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with where the options of the first command are."""
        path, first = ctx.command_path, next(iter(self.commands))
        self.epilog = f"`{path}` is short for `{path} {first}`, whose options are in `{path} {first} --help`."
        super().format_help(ctx, formatter)


def _hide_flag_types(command: Any, ctx: Any) -> None:
    """Make the help show flags without a type, because they take no value; also those of the commands below."""
    for option in [*command.params, command.get_help_option(ctx)]:
        if getattr(option, "is_flag", False) and option.metavar is None:
            option.metavar = ""
    for below in getattr(command, "commands", {}).values():
        _hide_flag_types(below, ctx)


def run_safely(command: Any) -> None:
    """Run the root command; report a bug of t2i in one line."""
    try:
        command(prog_name="t2i")
    except BrokenPipeError:
        # the reader of standard output has closed it: print nothing more there
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


def _expand_home(word: str) -> str:
    """Return a word with the home folder in place of `~`; shells leave it in `--out=~/run` and in quotes."""
    flag, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    return f"{flag}{equals}{expand_home(value)}"


def say_error(message: str, command: str = "") -> None:
    """Write an error as one line to standard error; append a command unchanged.

    Args:
        message: The message; white space in it collapses.
        command: Command line that the user can run next.
    """
    write_line(f"error: {' '.join(message.split())}{command and ': '}{command}", err=True)


def _report_misuse(error: Any) -> typer.Exit:
    """Report a usage error, with the command that shows the right usage."""
    path = error.ctx.command_path if error.ctx else "t2i"
    if hasattr(error, "possibilities") and error.ctx:
        message = _describe_unknown_option(error.option_name, error.ctx)
    else:
        message = error.format_message().replace("Value error, ", "").rstrip(".")  # pydantic's prefix
    say_error(f"{message} (see `{path} --help`)")
    return typer.Exit(error.exit_code)


def _describe_unknown_option(name: str, context: Any) -> str:
    """Return a message with the command's options that are spelt alike, or else with all of them."""
    parameters = context.command.get_params(context)
    flags = [max(each.opts, key=len) for each in parameters if each.opts[0].startswith("-")]
    hint = did_you_mean(name, flags) or f"; choose {', '.join(flags)}"
    return f"unknown option {name!r}{hint}"


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
        raise BrokenPlugin(
            f"plugin {origin}: its command {name!r} must be a typer.Typer (got {type(app).__name__})"
        )
    command = typer.main.get_command(app)
    lend_evaluations(command, registry)
    return command


def lend_evaluations(command: Any, registry: Registry) -> None:
    """Give a plugin's command, and the commands below it, an evaluator if it runs evaluations."""
    for below in getattr(command, "commands", {}).values():
        lend_evaluations(below, registry)
    if not is_marked(command.callback):
        return
    from t2i_core.engine.request import PLUGIN_COMMAND

    from .request_command import make_options

    options = make_options(PLUGIN_COMMAND)
    command.params[:0] = options
    invoke = command.invoke

    def invoke_with_evaluator(ctx: Any) -> Any:
        from .evaluation import CommandEvaluator

        given = {option.name: ctx.params.pop(option.name) for option in options}
        ctx.obj = CommandEvaluator(registry, given)
        return invoke(ctx)

    command.invoke = invoke_with_evaluator
