#!/usr/bin/env python3
"""Reads the compiled CUDA kernels and says whether they are what their sources promise.

usage: sass_lint.py OBJECT --compiler "nvcc 13.0.88" [--tools FOLDER] [--write] [--self-test]

OBJECT    a host object or static library with the kernels of kernels/cuda, as the build made it
--tools   cuobjdump and nvdisasm are there if not on PATH; installed there from PyPI if nowhere
--write   replaces kernels/cuda/sass_counts.inl instead of comparing with it
--self-test  also damages the disassembly in every way that a rule is against, and fails if a rule
          does not notice

Rules, for each of sm_80, sm_90 and sm_100: every kernel is in the table below and the reverse; no
local memory, so neither spills nor arrays that are indexed; as many 16-byte loads and stores as
the table says, at least; no more registers than it allows. What is counted equals the committed
counts, which `refit bench kernels` shows; another compiler counts otherwise, and then only the
rules hold. Exit code 77: it cannot be done here, and why.
"""
import argparse
import heapq
import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNTS = ROOT / "kernels/cuda/sass_counts.inl"
ARCHITECTURES = (80, 90, 100)
# Oldest on PyPI; they read what every nvcc up to their own version writes.
WHEELS = ("nvidia-cuda-cuobjdump==13.2.86", "nvidia-cuda-nvdisasm==13.2.86")
SKIPPED = 77


class Rule(NamedTuple):
    loads: int  # of 16 bytes, at least
    stores: int
    registers: int  # 64: half of the threads of an SM fit; 128: a quarter
    loop: bool = False  # its inner loop is over 16-byte accesses alone
    why: str = ""  # it has no vector access


RULES = {
    "compare_words": Rule(2, 0, 64, True),
    "diff_emit": Rule(1, 0, 64),
    "diff_mark": Rule(2, 0, 64, True),
    # The keys of a thread's eight columns stay in 16 registers.
    "digest_boxes": Rule(1, 0, 80, True),
    "digest_staged": Rule(0, 0, 64, why="words lie where the changes are"),
    "fill_field": Rule(0, 2, 64, why="reads one row's constants"),
    "gather_boxes": Rule(1, 1, 80, True),
    "overwrite_staged": Rule(0, 0, 64, why="words lie where the changes are"),
    "scan_clear": Rule(0, 0, 32, why="one number a part"),
    "scan_counts": Rule(0, 0, 64, why="one number a thread"),
    "scan_staged": Rule(0, 0, 64, why="one number a thread"),
    "scatter_boxes": Rule(1, 1, 80, True),
    "stage_count": Rule(0, 0, 64, why="a binary search"),
    "stage_emit": Rule(0, 0, 64, why="masks of a segment begin at any entry"),
    # A warp a tile: it is the tiles of a batch that limit how many run.
    "xc_decode": Rule(1, 0, 128),
    "xc_encode": Rule(1, 0, 128),
    "xc_emit": Rule(1, 0, 64),
    "xc_gather": Rule(0, 0, 64, why="payloads begin at any byte"),
    "xc_list": Rule(1, 0, 64),
    "xc_sample": Rule(1, 0, 64),
}


class Instruction(NamedTuple):
    address: int
    conditional: bool
    opcode: str
    operands: str

    def target(self):
        found = re.search(r"0x([0-9a-f]+)\s*$", self.operands)
        return int(found.group(1), 16) if self.opcode.startswith("BRA") and found else None

    def falls_through(self):
        if self.conditional:
            return True
        if self.opcode == "BRA":
            return not re.fullmatch(r"0x[0-9a-f]+", self.operands.strip())
        return self.opcode not in ("EXIT", "RET", "BRX", "JMP")


class Kernel(NamedTuple):
    name: str
    architecture: int
    code: list
    registers: int
    local: int

    def vectors(self, kind):
        return sum(i.opcode.startswith(kind) and ".128" in i.opcode for i in self.code)


def kernel_name(mangled):
    """The name behind refit::kernels::device_target:: in a mangled name."""
    found = re.match(r"_ZN5refit7kernels13device_target(\d+)", mangled)
    if not found:
        return mangled
    return mangled[found.end() : found.end() + int(found.group(1))]


LINE = re.compile(r"^\s+/\*([0-9a-f]{4,5})\*/\s+(@!?U?P\w+\s+)?([A-Z][\w.]*)\s*(.*?);")


def parse(sass, usage):
    resources = {}
    architecture = mangled = None
    for line in usage.splitlines():
        if found := re.search(r"^\s*arch = sm_(\d+)", line):
            architecture = int(found.group(1))
        elif found := re.search(r"Function (\S+):", line):
            mangled = found.group(1)
        elif found := re.search(r"REG:(\d+) STACK:(\d+).* LOCAL:(\d+)", line):
            registers, stack, local = map(int, found.groups())
            resources[architecture, mangled] = (registers, stack + local)
    kernels = []
    for line in sass.splitlines():
        if found := re.search(r"^\s*arch = sm_(\d+)", line):
            architecture = int(found.group(1))
        elif found := re.search(r"Function : (\S+)", line):
            mangled = found.group(1)
            registers, local = resources.get((architecture, mangled), (0, 0))
            kernels.append(Kernel(kernel_name(mangled), architecture, [], registers, local))
        elif kernels and (found := LINE.match(line)):
            address, condition, opcode, operands = found.groups()
            kernels[-1].code.append(
                Instruction(int(address, 16), condition is not None, opcode, operands))
    return [without_padding(k) for k in kernels if k.architecture in ARCHITECTURES]


def without_padding(kernel):
    code = kernel.code
    while code and (code[-1].opcode == "NOP" or code[-1].target() == code[-1].address):
        code.pop()
    return kernel


def loop_per_word(kernel, rule):
    """The fewest instructions through a loop that does all vector accesses once, per word."""
    want = max(rule.loads, rule.stores)
    kind = "LDG" if rule.loads else "STG"
    index = {i.address: n for n, i in enumerate(kernel.code)}
    best = None
    for last, back in enumerate(kernel.code):
        if back.target() is None or back.target() > back.address:
            continue
        cost = shortest(kernel.code, index, index[back.target()], last, (kind, want))
        if cost is not None and (best is None or cost < best):
            best = cost
    return None if best is None else best / 8


def shortest(code, index, first, last, wanted):
    kind, want = wanted
    queue = [(1, first, 0)]
    done = set()
    while queue:
        cost, at, seen = heapq.heappop(queue)
        if (at, seen) in done:
            continue
        done.add((at, seen))
        instruction = code[at]
        if instruction.opcode.startswith(kind) and ".128" in instruction.opcode:
            seen = min(seen + 1, want)
        if at == last:
            if seen == want:
                return cost
            continue
        following = []
        if instruction.falls_through():
            following.append(at + 1)
        if instruction.target() in index:
            following.append(index[instruction.target()])
        for step in following:
            if first <= step <= last:
                heapq.heappush(queue, (cost + 1, step, seen))
    return None


def check(kernels):
    """What is wrong, one line each."""
    wrong = []
    for architecture in ARCHITECTURES:
        there = {k.name for k in kernels if k.architecture == architecture}
        for name in sorted(RULES.keys() - there):
            wrong.append(f"sm_{architecture} {name}: not in the object")
    for kernel in kernels:
        where = f"sm_{kernel.architecture} {kernel.name}"
        rule = RULES.get(kernel.name)
        if rule is None:
            wrong.append(f"{where}: no rule says what it must be")
            continue
        local = [i for i in kernel.code if re.match(r"(LDL|STL)(\.|$)", i.opcode)]
        if local or kernel.local:
            wrong.append(f"{where}: {len(local)} accesses to {kernel.local} bytes of local memory")
        if kernel.vectors("LDG") < rule.loads:
            wrong.append(f"{where}: {kernel.vectors('LDG')} loads of 16 bytes, not {rule.loads}")
        if kernel.vectors("STG") < rule.stores:
            wrong.append(f"{where}: {kernel.vectors('STG')} stores of 16 bytes, not {rule.stores}")
        if not 0 < kernel.registers <= rule.registers:
            wrong.append(f"{where}: {kernel.registers} registers, not 1 to {rule.registers}")
        if rule.loop and loop_per_word(kernel, rule) is None:
            wrong.append(f"{where}: no loop over 16-byte accesses")
    return wrong


def counts_text(kernels, compiler):
    lines = [
        "// Made by tests/tools/sass_lint.py --write: what this compiler makes of each kernel.",
        "// Kernel, architecture, instructions, registers, 16-byte loads, fewest instructions",
        "// a word through the loop over 16-byte loads (0: there is no such loop).",
        f'REFIT_SASS_COMPILER("{compiler}")',
    ]
    for kernel in sorted(kernels, key=lambda k: (k.name, k.architecture)):
        rule = RULES[kernel.name]
        loop = loop_per_word(kernel, rule) if rule.loop else 0
        lines.append(
            f'REFIT_SASS_COUNT("{kernel.name}", {kernel.architecture}, {len(kernel.code)}, '
            f'{kernel.registers}, {kernel.vectors("LDG")}, {loop:.3f})')
    return "\n".join(lines) + "\n"


def self_test(sass, usage, good):
    """Every rule notices what it is against."""
    def first(pattern, by, text):
        changed, count = re.subn(pattern, by, text, count=1)
        assert count == 1, f"nothing to damage: {pattern}"
        return changed

    damages = {
        "of local memory": (first(r"STG\.E(\.U16|\.U8)? ", "STL ", sass), usage),
        "bytes of local memory": (sass, first("STACK:0", "STACK:64", usage)),
        "loads of 16 bytes": (sass.replace("LDG.E.128", "LDG.E.64"), usage),
        "stores of 16 bytes": (sass.replace("STG.E.128", "STG.E.64"), usage),
        "registers, not": (sass, first(r"REG:\d+", "REG:168", usage)),
        "no rule says": (sass.replace("9diff_mark", "9diff_make"), usage),
        "not in the object": (sass.replace("9diff_mark", "9diff_make"), usage),
        "no loop over": (sass.replace("BRA", "BAR"), usage),
    }
    missed = [says for says, (damaged, used) in damages.items()
              if not any(says in line for line in check(parse(damaged, used)))]
    shorter = [k._replace(code=k.code[1:]) for k in good]
    if counts_text(shorter, "x") == counts_text(good, "x"):
        missed.append("counts differ")
    return [f"self-test: nobody noticed: {says}" for says in missed]


def find_tools(folder):
    """Where cuobjdump and nvdisasm are; None with a reason on stderr."""
    if shutil.which("cuobjdump") and shutil.which("nvdisasm"):
        return None
    binaries = pathlib.Path(folder or "sass-tools") / "nvidia/cu13/bin"
    if not (binaries / "cuobjdump").exists():
        command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check",
                   "--root-user-action", "ignore", "--no-deps", "--timeout", "10", "--retries", "1",
                   "--target", str(binaries.parents[2]), *WHEELS]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no output"])[-1]
            skip(f"cuobjdump and nvdisasm are not here and not to be had from PyPI: {last}")
    for name in ("cuobjdump", "nvdisasm"):
        (binaries / name).chmod(0o755)
    return str(binaries)


def skip(reason):
    print(f"sass_lint: Skipped\n{reason}")
    sys.exit(SKIPPED)


def dump(binaries, flag, target):
    path = os.environ["PATH"] if binaries is None else binaries + ":" + os.environ["PATH"]
    environment = {**os.environ, "PATH": path}
    program = shutil.which("cuobjdump", path=path)
    done = subprocess.run([program, flag, target], capture_output=True, text=True, check=False,
                          env=environment)
    if done.returncode != 0:
        sys.exit(f"sass_lint: cuobjdump {flag} {target}: {done.stderr.strip()}")
    return done.stdout


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("object")
    arguments.add_argument("--compiler", required=True)
    arguments.add_argument("--tools")
    arguments.add_argument("--write", action="store_true")
    arguments.add_argument("--self-test", action="store_true")
    given = arguments.parse_args()
    binaries = find_tools(given.tools)
    sass = dump(binaries, "-sass", given.object)
    usage = dump(binaries, "-res-usage", given.object)
    kernels = parse(sass, usage)
    missing = sorted(set(ARCHITECTURES) - {k.architecture for k in kernels})
    if missing:
        skip("the kernels were not built for " + ", ".join(f"sm_{a}" for a in missing))
    wrong = check(kernels)
    if given.self_test and not wrong:
        wrong = self_test(sass, usage, kernels)
    if wrong:
        sys.exit("\n".join(["sass_lint: the kernels are not what they promise:", *wrong]))
    text = counts_text(kernels, given.compiler)
    committed = COUNTS.read_text() if COUNTS.exists() else ""
    if given.write:
        COUNTS.write_text(text)
    elif f'"{given.compiler}"' not in committed:
        print(f"{given.compiler}: the committed counts are another compiler's, not compared")
    elif text != committed:
        sys.exit(f"sass_lint: {COUNTS.relative_to(ROOT)} is out of date: run this with --write")
    print(f"{len(kernels)} kernels of sm_80, sm_90, sm_100: no local memory, vectors as planned")


if __name__ == "__main__":
    main()
