# SPDX-License-Identifier: BSD-3-Clause
"""Writes shell completions from the table of options of a tool."""


def bare(name):
    return name.lstrip("-")


def names(table):
    """Names to offer: not the aliases of other tools."""
    return [n for o in table.shown() for n in o.names]


def takes_next(o):
    """Whether the next word is the value, or the first of two."""
    return bool(o.value) and "next" in o.forms


# ---- bash ----

BASH = """\
# bash completion of {tool}. Written by tools/lib/options.py from the table of its options.
_pliant_{function}()
{{
    local cur=${{COMP_WORDS[COMP_CWORD]}} name='' state=options skip=0 word i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${{COMP_WORDS[i]}}
        if [[ $word == '=' ]]; then
            continue # bash makes three words of --name=value
        fi
        if ((skip > 0)); then
            skip=$((skip - 1))
            [[ $skip -gt 0 ]] || name=''
            continue
        fi
        name=''
        if [[ $state == arguments ]]; then
            [[ $word != : ]] || state=options
            continue
        fi
        case $word in
        -?*=*) ;;
        -?*)
            name=${{word#-}}
            name=${{name#-}}
            case $name in
            {pairs}) skip=2 ;;
            {valued}) skip=1 ;;
            *) name='' ;;
            esac
            ;;
        *) {operand} ;;
        esac
    done
    [[ $cur != '=' ]] || cur=''
    case $name in
    '') ;;
{values}
    *) return ;;
    esac
    if [[ $state == options && $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '{options}' -- "$cur")
        return
    fi
{operands}
}}
complete -F _pliant_{function} {commands}
"""

FILES = "compopt -o filenames 2>/dev/null\n{pad}mapfile -t COMPREPLY < <(compgen {kind} -- \"$cur\")"
BASH_KINDS = {"file": "-f", "dir": "-d", "program": "-c", "host": "-A hostname"}


def bash_action(kind, pad):
    if isinstance(kind, list):
        return f"mapfile -t COMPREPLY < <(compgen -W '{' '.join(kind)}' -- \"$cur\")" if kind else ":"
    return FILES.format(kind=BASH_KINDS[kind], pad=pad)


def bash(table):
    pad = " " * 8
    values = []
    for o in table.options:
        if takes_next(o) and o.completion():
            match = "|".join(bare(n) for n in o.names + o.aliases)
            values.append(f"    {match})\n{pad}{bash_action(o.completion(), pad)}\n{pad}return\n{pad};;")
    listed = {kind: "|".join(bare(n) for o in table.options if takes_next(o) and o.kind != "rest" and
                             (o.kind == "pair") == (kind == "pairs") for n in o.names + o.aliases) or "''"
              for kind in ("pairs", "valued")}
    if table.commands:
        operands = "    " + bash_action([c.names[0] for c in table.commands], "    ")
        operand = "state=operands"
    elif table.operands == "program":
        operands = ("    compopt -o filenames 2>/dev/null\n    if [[ $state == options ]]; then\n"
                    "        mapfile -t COMPREPLY < <(compgen -c -f -- \"$cur\" | sort -u)\n    else\n"
                    "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n    fi")
        operand = "state=arguments"
    else:
        operands = "    " + (bash_action("file", "    ") if table.operands == "file" else "return 0")
        operand = ":"
    if table.commands:
        operands = "    if [[ $state == options ]]; then\n    " + operands + "\n    fi"
    return BASH.format(tool=table.tool, function=table.tool.replace("-", "_"), options=" ".join(names(table)),
                       values="\n".join(values), operands=operands, operand=operand,
                       commands=" ".join([table.tool] + table.other_names), **listed)


# ---- zsh ----

def zsh_text(text):
    return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


ZSH_KINDS = {"file": "_files", "dir": "_files -/", "program": "_command_names -e", "host": "_hosts"}


def zsh_value(o):
    if not o.value:
        return ""
    kind = o.completion()
    action = f"({' '.join(kind)})" if isinstance(kind, list) else ZSH_KINDS[kind]
    value = o.value.split()[0] if o.kind == "pair" else o.value
    one = f":{zsh_text(value)}:{action if action != '()' else ' '}"
    return (":" if "none" in o.forms else "") + one + (f":{zsh_text(o.value.split()[1])}: " if o.kind == "pair" else "")


def zsh_sign(o):
    """How _arguments is told where the value stands."""
    if not o.value or o.kind in ("pair", "rest"):
        return ""
    if "joined" in o.forms:
        return "+" if "next" in o.forms else "-"
    return "=" if "next" in o.forms else "=-"


def zsh(table):
    lines = [f"#compdef {' '.join([table.tool] + table.other_names)}",
             f"# zsh completion of {table.tool}. Written by tools/lib/options.py from the table of its options.",
             "local -a args", "args=("]
    for o in table.shown():
        for name in o.names:
            lines.append(f"    '*{name}{zsh_sign(o)}[{zsh_text(o.help)}]{zsh_value(o)}'")
    if table.commands:
        lines.append("    '1:command:((" + " ".join(
            f"{c.names[0]}\\:\"{zsh_text(c.help)}\"" for c in table.commands) + "))'")
        lines.append("    '*:operand: '")
    elif table.operands == "program":
        lines += ["    '(-):program:_command_names -e'", "    '*::argument:_normal'"]
    elif table.operands == "file":
        lines.append("    '*:file:_files'")
    return "\n".join(lines + [")", "_arguments -S : $args", ""])


# ---- fish ----

def fish_text(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


FISH_KINDS = {"file": "-r -F", "dir": "-x -a '(__fish_complete_directories)'", "host": "-x -a '(__fish_print_hostnames)'",
              "program": "-x -a '(__fish_complete_command)'"}


def fish_name(name):
    if name.startswith("--"):
        return f"-l {bare(name)}"
    return f"-s {bare(name)}" if len(name) == 2 else f"-o {bare(name)}"


def fish_value(o):
    if not takes_next(o):
        return ""
    kind = o.completion()
    if isinstance(kind, list):
        return " -x" + (f" -a {fish_text(' '.join(kind))}" if kind else "")
    return " " + FISH_KINDS[kind]


def fish(table):
    lines = [f"# fish completion of {table.tool}. Written by tools/lib/options.py from the table of its options."]
    for tool in [table.tool] + table.other_names:
        for o in table.shown():
            spelled = " ".join(fish_name(n) for n in o.names)
            lines.append(f"complete -c {tool} {spelled}{fish_value(o)} -d {fish_text(o.help)}")
        for c in table.commands:
            lines.append(f"complete -c {tool} -f -n __fish_use_subcommand -a {c.names[0]} -d {fish_text(c.help)}")
        if table.operands == "program":
            lines.append(f"complete -c {tool} -x -a '(__fish_complete_subcommand)'")
        elif table.operands == "none" and not table.commands:
            lines.append(f"complete -c {tool} -f")
    return "\n".join(lines) + "\n"


WRITERS = {"bash": bash, "zsh": zsh, "fish": fish}
