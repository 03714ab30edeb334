"""`commonplace completion SHELL`: a script for bash, zsh or fish that completes commands, flags and their values."""

import argparse
import shlex
from collections.abc import Iterator, Sequence

from commonplace.cli.command import Command, Flag

PROGRAMS = ("commonplace", "commonplace-mcp")
Node = tuple[tuple[str, ...], Command]
"""A command or an act, with the words that name it; the empty name is the program itself."""


def run(arguments: argparse.Namespace) -> int:
    from commonplace.cli.parser import COMMANDS  # the table lists this command

    renderers = {"bash": render_bash, "zsh": render_zsh, "fish": render_fish}
    print(renderers[arguments.shell](list_nodes(COMMANDS)))
    return 0


def list_nodes(commands: Sequence[Command]) -> list[Node]:
    program = Command("", "", acts=tuple(commands))
    return [(path[1:], command) for path, command in program.walk()]


def _list_words(command: Command) -> list[str]:
    flags = [name for flag in command.list_flags() for name in flag.names if name.startswith("--")]
    return [*(act.name for act in command.acts), *flags, "--help"]


def _list_values(nodes: Sequence[Node]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(command, flag, values) for flags with a fixed choice."""
    for path, command in nodes:
        for flag in command.list_flags():
            if flag.choices:
                yield from (
                    (" ".join(path), name, flag.choices) for name in flag.names if name.startswith("-")
                )


def render_bash(nodes: Sequence[Node]) -> str:
    words = "\n".join(
        f"    {shlex.quote(' '.join(path))}) words={shlex.quote(' '.join(_list_words(command)))} ;;"
        for path, command in nodes
    )
    values = "\n".join(
        f"    {shlex.quote(f'{command} {flag}'.strip())}) words={shlex.quote(' '.join(choices))} ;;"
        for command, flag, choices in _list_values(nodes)
    )
    known = " ".join(shlex.quote(" ".join(path)) for path, _ in nodes if path)
    return f"""# bash completion for commonplace: source <(commonplace completion bash)
_commonplace() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} path="" words="" word candidate known
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    candidate="${{path:+$path }}$word"
    for known in {known}; do
      if [[ $known == "$candidate" ]]; then path=$candidate; break; fi
    done
  done
  case "$path $previous" in
{values}
    *) case "$path" in
{words}
    esac ;;
  esac
  COMPREPLY=()
  if [[ -z $words ]]; then return; fi
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "$current")
}}
complete -o default -F _commonplace {" ".join(PROGRAMS)}"""


def render_zsh(nodes: Sequence[Node]) -> str:
    """zsh runs the completion of bash."""
    head = f"#compdef {' '.join(PROGRAMS)}\n# zsh completion for commonplace: source <(commonplace completion zsh)"
    return f"{head}\nautoload -U +X bashcompinit && bashcompinit\n{render_bash(nodes)}"


def render_fish(nodes: Sequence[Node]) -> str:
    lines = ["# fish completion for commonplace: commonplace completion fish | source"]
    for program in PROGRAMS:
        for path, command in nodes:
            seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in path)
            start = f"complete -c {program} -n {shlex.quote(seen or '__fish_use_subcommand')}"
            lines += [f"{start} -f -a {act.name} -d {shlex.quote(act.help)}" for act in command.acts]
            lines += [
                f"{start} -l {name[2:]}{_fish_value(flag)} -d {shlex.quote(flag.help)}"
                for flag in command.list_flags()
                for name in flag.names
                if name.startswith("--")
            ]
    return "\n".join(lines)


def _fish_value(flag: Flag) -> str:
    if flag.choices:
        return f" -xa {shlex.quote(' '.join(flag.choices))}"
    return " -r" if flag.metavar else ""
