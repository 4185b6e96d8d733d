#!/usr/bin/env python3
"""Puts what GPUs were measured to do into README.md.

usage: readme_gpu.py [--print | --check] [FILE.json ...]

FILE     as tests/gpu_check.sh wrote it; default: results/measured/gpu*.json
--print  the section on stdout, and nothing else
--check  fails if README.md says something else
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- gpu -->\n", "<!-- end -->\n"
NOBODY = """\
No GPU has run Refit yet, so no speed is known. With a card, a driver 580 or newer and the built
program, `tests/gpu_check.sh -o gpu.json` takes four minutes at most; send the file, and its rows
stand here.
"""


def table(document):
    """The rows of one card at the largest size it was measured at."""
    rows = [row for row in document["kernels"]["kernels"]["rows"]
            if row["backend"] == "cuda" and row["state"] == "measured"]
    if document["backend"] != "cuda" or not rows:
        sys.exit("readme_gpu: nothing here was measured on a GPU")
    words = max(row["words"] for row in rows)
    shown = [row for row in rows if row["words"] == words]
    steps = "{passed} passed, {failed} failed, {skipped} skipped".format(**document)
    lines = [
        f"{document['card']}, driver {document['driver']}, commit {document['commit']}: "
        f"{words / 2**20:.0f} Mi words in {shown[0]['tiles']} tiles, "
        f"{100 * shown[0]['changed']:.1f} % changed; {steps}",
        "",
        "| operation | bytes it must move, a word | GB/s of these | of the copy | 10^9 words/s "
        "| wrong |",
        "|---|---|---|---|---|---|",
    ]
    for row in shown:
        lines.append("| `{}` | {:.3f} | {:.0f} | {:.2f} | {:.1f} | {} |".format(
            row["operation"], row["floor_bytes"] / words, row["bytes_per_second"] / 1e9,
            row["share_of_ceiling"], row["words_per_second"] / 1e9, row["wrong"]))
    return "\n".join(lines) + "\n"


def section(files):
    if not files:
        return NOBODY
    return "\n".join(table(json.loads(file.read_text())) for file in files)


def main():
    arguments = sys.argv[1:]
    mode = arguments.pop(0) if arguments and arguments[0].startswith("--") else "--write"
    if mode not in ("--write", "--print", "--check"):
        sys.exit(__doc__)
    files = [pathlib.Path(name) for name in arguments]
    text = section(files or sorted((ROOT / "results/measured").glob("gpu*.json")))
    if mode == "--print":
        print(text, end="")
        return
    readme = ROOT / "README.md"
    page = readme.read_text()
    begin = page.index(BEGIN) + len(BEGIN)
    end = page.index(END, begin)
    if mode == "--check":
        if page[begin:end] != text:
            sys.exit("readme_gpu: README.md is out of date: run tests/tools/readme_gpu.py")
        return
    readme.write_text(page[:begin] + text + page[end:])


if __name__ == "__main__":
    main()
