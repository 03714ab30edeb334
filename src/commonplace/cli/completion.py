"""`commonplace completion SHELL`: a script for bash, zsh or fish that completes commands, flags and their values."""

import argparse
import shlex
from collections.abc import Iterator

from commonplace.cli.command_tree import CommandNode, read_commands

PROGRAMS = ("commonplace", "commonplace-mcp")


def run(arguments: argparse.Namespace) -> int:
    from commonplace.cli.parser import build_parser  # the parser lists this command

    commands = read_commands(build_parser())
    print({"bash": render_bash, "zsh": render_zsh, "fish": render_fish}[arguments.shell](commands))
    return 0


def _list_words(node: CommandNode) -> list[str]:
    flags = [name for flag in node.flags for name in flag.names if name.startswith("--")]
    return [*(child.path[-1] for child in node.children), *flags]


def _list_values(commands: CommandNode) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(command, flag, values) for flags with a fixed choice."""
    for node in commands.walk():
        for flag in node.flags:
            for name in flag.names:
                if flag.values:
                    yield " ".join(node.path), name, flag.values


def render_bash(commands: CommandNode) -> str:
    words = "\n".join(
        f"    {shlex.quote(' '.join(node.path))}) words={shlex.quote(' '.join(_list_words(node)))} ;;"
        for node in commands.walk()
    )
    values = "\n".join(
        f"    {shlex.quote(f'{command} {flag}'.strip())}) words={shlex.quote(' '.join(choices))} ;;"
        for command, flag, choices in _list_values(commands)
    )
    known = " ".join(shlex.quote(" ".join(node.path)) for node in commands.walk() if node.path)
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


def render_zsh(commands: CommandNode) -> str:
    """zsh runs the completion of bash."""
    head = f"#compdef {' '.join(PROGRAMS)}\n# zsh completion for commonplace: source <(commonplace completion zsh)"
    return f"{head}\nautoload -U +X bashcompinit && bashcompinit\n{render_bash(commands)}"


def render_fish(commands: CommandNode) -> str:
    lines = ["# fish completion for commonplace: commonplace completion fish | source"]
    for program in PROGRAMS:
        for node in commands.walk():
            seen = " ".join(f"__fish_seen_subcommand_from {word};" for word in node.path).replace(
                "; ", "; and "
            )
            condition = shlex.quote(seen.rstrip(";")) if seen else "__fish_use_subcommand"
            lines += [
                f"complete -c {program} -n {condition} -f -a {child.path[-1]} -d {shlex.quote(child.help)}"
                for child in node.children
            ]
            for flag in node.flags:
                if long := next((name[2:] for name in flag.names if name.startswith("--")), ""):
                    values = (
                        f" -xa {shlex.quote(' '.join(flag.values))}"
                        if flag.values
                        else " -r"
                        if flag.metavar
                        else ""
                    )
                    lines.append(
                        f"complete -c {program} -n {condition} -l {long}{values} -d {shlex.quote(flag.help)}"
                    )
    return "\n".join(lines)
