#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes --help texts and shell completions from the manual pages, and keeps pages and code in step.

man2help.py page PAGE.scd        the page with @shared and @commands filled in, for scdoc
man2help.py texts PAGE.scd...    the C initialisers that src/help.c includes
man2help.py bash|zsh|fish PAGE.scd...
man2help.py check PROGRAM PAGE.scd...   compares the pages with PROGRAM --list-options

Options are taken from the sections whose heading holds OPTIONS, the head
of an option in the form `*-j*, *--threads* _N_|*auto*`, the text below it indented
with a tab. The first sentence of the text is the line in --help.
"""
import pathlib
import re
import subprocess
import sys
import textwrap

COMMANDS = ["convert", "shard", "inspect", "count", "bench", "feed"]
WIDTH = 79
COLUMN = 26
SENTENCE = 160


def plain(text):
    """scdoc markup taken away."""
    text = re.sub(r"\+\+$", "", text, flags=re.M)
    text = re.sub(r"(?<!\\)\*", "", text)
    text = re.sub(r"(?<![\\\w])_|(?<!\\)_(?!\w)", "", text)
    return re.sub(r"\\(.)", r"\1", text)


class Option:
    def __init__(self, head, body):
        self.head = head
        self.text = plain(head)
        self.names = re.findall(r"--[a-z][a-z0-9-]*", self.text)
        letter = re.match(r"-([a-zA-Z])\b", self.text)
        self.letter = letter.group(1) if letter else None
        value = head.split(self.names[-1] + "*", 1)[1].strip()
        self.takes_value = bool(value)
        self.choices = re.findall(r"\*([^*]+)\*", value) if value else []
        self.value = plain(value)
        sentence = re.split(r"(?<=\.) (?=[A-Z*_])", " ".join(body))[0]
        self.sentence = plain(sentence).rstrip(".")

    @property
    def name(self):
        return self.names[0][2:]

    @property
    def is_path(self):
        return bool(re.search(r"FILE|PATH|DIR|FOLDER", self.value))


def read_options(lines):
    """The options of some lines of scdoc: a head in bold, then an indented body."""
    found, i = [], 0
    while i < len(lines):
        if lines[i].startswith("*-") and i + 1 < len(lines) and lines[i + 1].startswith("\t"):
            head, body = lines[i], []
            i += 1
            while i < len(lines) and lines[i].startswith("\t"):
                body.append(lines[i].strip())
                i += 1
            found.append(Option(head, body))
        else:
            i += 1
    return found


def entries(lines):
    """The same lines cut into {option name: its lines}."""
    table, name = {}, None
    for line in lines:
        if line.startswith("*-"):
            name = re.search(r"--([a-z-]+)", line).group(1)
            table[name] = []
        if name:
            table[name].append(line)
    return table


def fill_in(path):
    """The page's lines with @shared and @commands replaced."""
    folder = pathlib.Path(path).parent
    shared = entries((folder / "shared.scd").read_text().splitlines())
    out = []
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith("@shared"):
            for name in line.split()[1:]:
                out += [text.replace("*--on-error-blank*", "*--on-error*")
                        for text in shared[name] if text] + [""]
        elif line == "@commands":
            for name in commands_of(folder):
                out += [f"*{name}*", "\t" + Page(folder / f"tundish-{name}.1.scd").summary
                        + f". See *tundish-{name}*(1).", ""]
        else:
            out.append(line)
    return out


def commands_of(folder):
    return [c for c in COMMANDS if (folder / f"tundish-{c}.1.scd").exists()]


class Page:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        stem = self.path.name.split(".")[0]
        self.command = "" if stem == "tundish" else stem.removeprefix("tundish-")
        sections, name = {}, None
        for line in fill_in(path) if self.command else self.path.read_text().splitlines():
            if line.startswith("# "):
                name = line[2:]
                sections[name] = []
            elif name:
                sections[name].append(line)
        self.summary = " ".join(sections["NAME"]).split(" - ", 1)[1].strip()
        self.synopsis = [plain(s).strip() for s in sections.get("SYNOPSIS", []) if s.strip()]
        self.groups = [(n, read_options(s)) for n, s in sections.items() if "OPTIONS" in n]

    @property
    def options(self):
        return [o for _, group in self.groups for o in group]


def two_columns(left, right):
    if len(left) > COLUMN - 2:
        first = [left]
        left = ""
    else:
        first = []
    body = textwrap.wrap(right, WIDTH - COLUMN, break_on_hyphens=False)
    lines = [left.ljust(COLUMN) + body[0]] + [" " * COLUMN + b for b in body[1:]]
    return first + lines


def option_lines(option):
    left = option.text if option.letter else "    " + option.text
    return two_columns("  " + left, option.sentence)


def help_text(page, pages):
    lines = ["usage: " + page.synopsis[0]] + ["       " + s for s in page.synopsis[1:]]
    lines += ["", page.summary[0].upper() + page.summary[1:] + "."]
    if not page.command:
        lines += ["", "Commands:"]
        for name in commands_of(page.path.parent):
            lines += two_columns("  " + name, next(p for p in pages if p.command == name).summary)
    for heading, group in page.groups:
        lines += ["", heading.capitalize() + ":"]
        for option in group:
            lines += option_lines(option)
    topic = "tundish" + ("-" + page.command if page.command else "")
    return "\n".join(lines + ["", f"The manual page {topic}(1) says more."]) + "\n"


def topic_text(page):
    """All of a page that is of no command, without its markup."""
    lines, verbatim = [], False
    for line in fill_in(page.path)[1:]:
        if line.startswith("```"):
            verbatim = not verbatim
        elif verbatim:
            lines.append("    " + line.expandtabs(8))
        else:
            lines.append(plain(line.removeprefix("## ").removeprefix("# ")).expandtabs(4))
    return "\n".join(lines).strip("\n") + "\n"


def c_string(text):
    lines = text.split("\n")[:-1]
    return "\n".join('\t"' + s.replace("\\", "\\\\").replace('"', '\\"') + '\\n"' for s in lines)


def texts(pages):
    for page in pages:
        text = topic_text(page) if page in topics(pages) else help_text(page, pages)
        print('{ "%s",\n%s },' % (page.command, c_string(text)))


def commands(pages):
    return [p for p in pages if p.command in COMMANDS]


def topics(pages):
    return [p for p in pages if p.command and p.command not in COMMANDS]


def flags(page):
    return " ".join(n for o in page.options for n in o.names)


def bash(pages):
    print("# bash completion for tundish, made from its manual pages\n_tundish()\n{")
    print('\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=""')
    print("\tif [ $COMP_CWORD -eq 1 ]; then")
    names = " ".join(p.command for p in commands(pages))
    print(f'\t\tCOMPREPLY=($(compgen -W "{names} help --help --version" -- "$cur"))\n\t\treturn\n\tfi')
    print('\tcase "${COMP_WORDS[1]} $prev" in')
    print(f'\t"help help") words="{names} {" ".join(p.command for p in topics(pages))}" ;;')
    for page in commands(pages):
        for o in page.options:
            if o.choices:
                print(f'\t"{page.command} {o.names[0]}") words="{" ".join(o.choices)}" ;;')
    print("\tesac")
    print('\tif [ -z "$words" ] && [[ $cur == -* ]]; then\n\t\tcase ${COMP_WORDS[1]} in')
    for page in commands(pages):
        print(f'\t\t{page.command}) words="{flags(page)}" ;;')
    print("\t\tesac\n\tfi")
    print('\tif [ -n "$words" ]; then\n\t\tCOMPREPLY=($(compgen -W "$words" -- "$cur"))')
    print('\telse\n\t\tCOMPREPLY=($(compgen -f -- "$cur"))\n\tfi\n}')
    print("complete -o filenames -F _tundish tundish")


def quoted(text):
    return text.replace("'", "'\\''")


def zsh_spec(option):
    text = quoted(option.sentence).replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    action = ""
    if option.takes_value:
        values = f"({' '.join(option.choices)})" if option.choices else "_files" * option.is_path
        action = f":{quoted(option.value).replace(':', chr(92) + ':')}:{values}"
    names = ([f"-{option.letter}"] if option.letter else []) + option.names
    return [f"'{n}[{text}]{action}'" for n in names]


def zsh(pages):
    print("#compdef tundish\n# made from the manual pages of tundish\n_tundish()\n{")
    print("\tlocal -a commands=(")
    for page in commands(pages):
        print(f"\t\t'{page.command}:{quoted(page.summary)}'")
    print("\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe command commands\n\t\treturn\n\tfi")
    print("\tlocal command=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n\tcase $command in")
    for page in commands(pages):
        print(f"\t{page.command})\n\t\t_arguments -s \\")
        for option in page.options:
            for spec in zsh_spec(option):
                print(f"\t\t\t{spec} \\")
        print("\t\t\t'*:path:_files'\n\t\t;;")
    print("\tesac\n}\n_tundish \"$@\"")


def fish(pages):
    print("# fish completion for tundish, made from its manual pages")
    for page in commands(pages):
        print(f"complete -c tundish -n __fish_use_subcommand -a {page.command} "
              f"-d '{quoted(page.summary)}'")
    for page in commands(pages):
        for o in page.options:
            letter = f" -s {o.letter}" if o.letter else ""
            value = ""
            if o.choices:
                value = f" -x -a '{' '.join(o.choices)}'"
            elif o.takes_value:
                value = " -r" if o.is_path else " -x"
            print(f"complete -c tundish -n '__fish_seen_subcommand_from {page.command}' "
                  f"-l {o.name}{letter}{value} -d '{quoted(o.sentence)}'")


def check(program, pages):
    """Each option with its letter and value: the code's table and the page must agree."""
    listed = subprocess.run([program, "--list-options"], check=True, capture_output=True, text=True)
    code, manual = set(), set()
    for line in listed.stdout.splitlines():
        command, name, letter, value = line.split("\t")
        code.add((command, name, letter, bool(value)))
    for page in commands(pages):
        for o in page.options:
            for name in o.names:
                manual.add((page.command, name, f"-{o.letter}" if o.letter else "", o.takes_value))
    long = [(p.command, o.names[0]) for p in pages for o in p.options if len(o.sentence) > SENTENCE]
    for command, name in long:
        print(f"{command}: {name}: its first sentence is too long for a line of help")
    for command, name, letter, value in sorted(code - manual):
        print(f"{command}: {letter} {name} (value: {value}) is in the code, not in the page")
    for command, name, letter, value in sorted(manual - code):
        print(f"{command}: {letter} {name} (value: {value}) is in the page, not in the code")
    return 1 if code != manual or long else 0


def main():
    mode, rest = sys.argv[1], sys.argv[2:]
    if mode == "page":
        print("\n".join(fill_in(rest[0])))
        return 0
    if mode == "check":
        return check(rest[0], [Page(p) for p in rest[1:]])
    {"texts": texts, "bash": bash, "zsh": zsh, "fish": fish}[mode]([Page(p) for p in rest])
    return 0


if __name__ == "__main__":
    sys.exit(main())
