"""The payloads of `xc` and `cf`, written from engine/codec/FORMAT.md section 3.1 alone."""
import pathlib
import re
from decimal import ROUND_HALF_EVEN, Decimal, localcontext

LANES, SEGMENT, GROUP = 32, 4096, 256
ONE, LOWEST, HIGHEST = 1 << 14, 1 << 15, 1 << 23
RAW_IN_STATES = 15 * LANES
FORMAT = pathlib.Path(__file__).resolve().parents[2] / "engine" / "codec" / "FORMAT.md"


def require(condition, what):
    if not condition:
        raise ValueError(what)


def hazard(q):
    """h(q), from the formula."""
    with localcontext() as context:
        context.prec = 60
        rate = Decimal(2) ** (Decimal(q) / 8 - 20)
        h = (ONE * (1 - (-rate).exp())).to_integral_value(ROUND_HALF_EVEN)
    return min(max(int(h), 1), ONE - 1)


H = [hazard(q) for q in range(256)]


def check_printed_rows():
    """The rows of the page are those of the formula; how many values they hold."""
    rows = re.findall(r"^ *(\d+) ((?: +\d+){16})$", FORMAT.read_text(), re.MULTILINE)
    printed = {int(first) + i: int(h) for first, row in rows for i, h in enumerate(row.split())}
    require(len(printed) == 16 * len(rows) and printed, "rows of h(q)")
    require(all(H[q] == h for q, h in printed.items()), "a row of h(q) is not the formula")
    rest = {H[q] for q in range(256) if q not in printed}
    require(rest <= {1, ONE - 1}, "a value of h(q) between its ends is not printed")
    return len(printed)


class Tables:
    """q of everything; cf has one bucket."""

    def __init__(self, reader, contextual):
        self.shift = reader.int("B")
        require(self.shift in ((7, 10) if contextual else (0,)), "m")
        self.window = reader.int("B") if contextual else None
        self.nodes = (None,) + reader.ints("15B")
        self.flags = reader.ints("16B" if contextual else "B")
        self.stages = []
        stages = reader.int("B")
        require(stages <= 15, "stages")
        for _ in range(stages):
            if not contextual:
                self.stages.append((reader.int("B"),))
                continue
            ends = reader.int("B")
            first, last = ends >> 4, ends & 15
            require(first <= last, "buckets of a stage")
            sent = reader.ints("%dB" % (last - first + 1))
            self.stages.append((0,) * first + sent + (0,) * (15 - last))

    def bucket(self, word):
        if self.window is None:
            return 0
        exponent = (word & 0x7FFF) >> self.shift
        return 0 if exponent == 0 else min(max(exponent - self.window, 1), 15)


class Lanes:
    """32 states, and the bytes they take."""

    def __init__(self, payload):
        require(len(payload) >= 3 * LANES, "states cut short")
        self.x = [int.from_bytes(payload[3 * i:3 * i + 3], "little") for i in range(LANES)]
        require(all(LOWEST <= x < HIGHEST for x in self.x), "a state out of range")
        self.payload, self.at = payload, 3 * LANES
        self.steps = []

    def step(self, odds):
        """odds: {lane: h}; the bits, by lane."""
        bits = {}
        for lane, h in odds.items():
            x = self.x[lane]
            s, t = x % ONE, (x >> 14) * h
            bits[lane] = int(s < h)
            self.x[lane] = t + s if s < h else x - h - t
        for _ in range(2):
            for lane in range(LANES):
                if self.x[lane] < LOWEST:
                    require(self.at < len(self.payload), "coded bytes missing")
                    self.x[lane] = 256 * self.x[lane] + self.payload[self.at]
                    self.at += 1
        require(all(x >= LOWEST for x in self.x), "twice is always enough")
        self.steps.append((odds, bits))
        return bits


def encode_steps(steps, raw):
    """The payload that holds these steps, {lane: h} and {lane: bit} each, and raw bits."""
    raw = raw + [0] * (RAW_IN_STATES - len(raw))
    raw += [0] * (-len(raw) % 8)
    number = sum(bit << i for i, bit in enumerate(raw))
    x = [LOWEST + (number >> 15 * lane) % LOWEST for lane in range(LANES)]
    coded = bytearray()  # the last byte first
    for odds, bits in reversed(steps):
        share = {lane: h if bits[lane] else ONE - h for lane, h in odds.items()}
        # The byte that is read last is written first: that of the lanes that take two.
        for limit in (1 << 17, 1 << 9):
            for lane in sorted(odds, reverse=True):
                if x[lane] >= share[lane] * limit:
                    coded.append(x[lane] & 255)
                    x[lane] >>= 8
        for lane, h in odds.items():
            f = share[lane]
            x[lane] = (x[lane] // f << 14) + x[lane] % f + (0 if bits[lane] else h)
    states = b"".join(state.to_bytes(3, "little") for state in x)
    tail = (number >> RAW_IN_STATES).to_bytes((len(raw) - RAW_IN_STATES) // 8, "little")
    return states + bytes(reversed(coded)) + tail


def read_levels(lanes, tables, segments):
    levels = []
    for group in range(0, segments, LANES):
        nodes = dict.fromkeys(range(min(LANES, segments - group)), 1)
        for _ in range(4):
            bits = lanes.step({lane: H[tables.nodes[v]] for lane, v in nodes.items()})
            nodes = {lane: 2 * v + bits[lane] for lane, v in nodes.items()}
        levels += [nodes[lane] - 16 for lane in sorted(nodes)]
    return levels


def read_flags(lanes, tables, base, levels):
    """Positions of the changed words."""
    positions = []
    for number, level in enumerate(levels):
        if level == 0:
            continue
        odds = [H[min(max(q + 4 * (level - 8), 0), 255)] for q in tables.flags]
        first, mine = number * SEGMENT, []
        end = min(first + SEGMENT, len(base))
        for group in range(first, end, GROUP):
            for j in range(8):
                places = {i: group + 8 * i + j for i in range(LANES) if group + 8 * i + j < end}
                bits = lanes.step({i: odds[tables.bucket(base[at])] for i, at in places.items()})
                mine += [places[i] for i, bit in bits.items() if bit]
        require(mine, "a segment with a level and no change")
        positions += sorted(mine)
    return positions


def read_stages(lanes, tables, words):
    """For each stage the numbers of the entries that it decides with 1."""
    passed, entries = [], range(len(words))
    for table in tables.stages:
        ones = []
        for group in range(0, len(entries), LANES):
            mine = entries[group:group + LANES]
            bits = lanes.step({lane: H[table[tables.bucket(words[entry])]]
                               for lane, entry in enumerate(mine)})
            ones += [entry for lane, entry in enumerate(mine) if bits[lane]]
        passed.append(ones)
        entries = ones
    return passed


def read_raw(lanes, count):
    """The raw bits, `count` of them; nothing else may be left of the payload."""
    require(all(x < 2 * LOWEST for x in lanes.x), "a state out of range at the end")
    bits = [x >> k & 1 for x in lanes.x for k in range(15)]
    rest = lanes.payload[lanes.at:]
    require(len(rest) == (max(count - RAW_IN_STATES, 0) + 7) // 8, "coded bytes or raw bits")
    bits += [byte >> k & 1 for byte in rest for k in range(8)]
    require(not any(bits[count:]), "raw bits that are not zero")
    return bits[:count]


def ordinal(word):
    return word ^ 0x7FFF if word & 0x8000 else word


def decode_tile(payload, tables, base, changed):
    """The next words of one tile."""
    lanes = Lanes(payload)
    levels = read_levels(lanes, tables, -(-len(base) // SEGMENT))
    positions = read_flags(lanes, tables, base, levels)
    require(len(positions) == changed, "changed words")
    passed = read_stages(lanes, tables, [base[at] for at in positions])
    raw = read_raw(lanes, changed + sum(map(len, passed)))
    require(encode_steps(lanes.steps, raw) == payload, "another payload of the same steps")
    raw = iter(raw)
    backwards = [next(raw) for _ in positions]
    sizes, classes = [0] * changed, [0] * changed
    for k, entries in enumerate(passed):
        for entry in entries:
            sizes[entry] |= next(raw) << k
            classes[entry] = k + 1
    result = list(base)
    for at, size, kind, back in zip(positions, sizes, classes, backwards):
        size |= 1 << kind
        result[at] = ordinal(ordinal(base[at]) + (-size if back else size) & 0xFFFF)
    return result


def example():
    """Tables and payload of the second worked example."""
    nodes, flags = bytes([144] * 15), bytes([116] * 16)
    tables = bytes([7, 112]) + nodes + flags + bytes([1, 0xFF, 130])
    level = [({0: H[144]}, {0: bit}) for bit in (1, 0, 0, 1)]  # 9
    changed = (1, 9, 62)
    flags = [({i: H[116 + 4] for i in range(8)}, {i: int(8 * i + j in changed) for i in range(8)})
             for j in range(8)]
    stage = [({i: H[130] for i in range(3)}, {0: 0, 1: 1, 2: 1})]
    return tables, encode_steps(level + flags + stage, [0, 0, 1] + [1, 0])


def decode_tiles(codec, reader, bases, counts):
    """The next words of every coded tile."""
    tables = Tables(reader, codec == "xc")
    sizes = reader.ints("%dI" % len(bases))
    return [decode_tile(reader.take(size), tables, base, count)
            for size, base, count in zip(sizes, bases, counts)]
