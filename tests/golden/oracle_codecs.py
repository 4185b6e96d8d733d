"""The bodies of units, written from engine/codec/FORMAT.md section 3 alone: see oracle.py."""
import shutil
import struct
import subprocess

import oracle_xc
from oracle_xc import require

EMPTY, RAW, CODED = 0, 1, 2
ROW_WORDS = 4096
CODECS = ("full", "full-zstd", "xor-zstd", "planes-zstd", "gap-xor-zstd", "coo-zstd",
          "bitmask-zstd", "index-value", "xc", "cf")


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        require(self.at + size <= len(self.data), "cut short")
        self.at += size
        return self.data[self.at - size:self.at]

    def ints(self, layout):
        layout = struct.Struct("<" + layout)
        return layout.unpack(self.take(layout.size))

    def int(self, layout):
        return self.ints(layout)[0]

    def block(self):
        return self.take(self.int("I"))

    def finish(self):
        require(self.at == len(self.data), "bytes left over")


def unzstd(frame, size):
    if not can_unzstd():
        raise RuntimeError("no zstd")
    try:
        import zstandard
        data = zstandard.ZstdDecompressor().decompress(frame, max_output_size=size)
    except ImportError:
        data = subprocess.run(["zstd", "-dcq"], input=frame, stdout=subprocess.PIPE,
                              check=True).stdout
    require(len(data) == size, "a frame of another size")
    return data


def unzstd_array(reader, size):
    return unzstd(reader.block(), size)


def can_unzstd():
    try:
        import zstandard  # noqa: F401
        return True
    except ImportError:
        return shutil.which("zstd") is not None


def words_of(data):
    return list(struct.unpack("<%dH" % (len(data) // 2), data))


def bytes_of(words):
    return struct.pack("<%dH" % len(words), *words)


def apply_list(base, positions, values):
    words, least = list(base), 0
    for position, value in zip(positions, values):
        require(least <= position < len(words), "positions")
        require(words[position] != value, "a change that changes nothing")
        words[position] = value
        least = position + 1
    return words


def read_gaps(gaps, counts):
    positions, at = [], 0
    for count in counts:
        mine, cursor = [], 0
        while len(mine) < count:
            require(at < len(gaps), "gaps end too early")
            cursor += gaps[at]
            if gaps[at] != 0xFFFF:
                mine.append(cursor)
                cursor += 1
            at += 1
        positions.append(mine)
    require(at == len(gaps), "gaps left over")
    return positions


def read_rows(steps, columns, counts):
    positions, columns, at = [], iter(columns), 0
    for count in counts:
        mine, row, column = [], 0, 0
        while len(mine) < count:
            before = row
            while True:
                require(at < len(steps), "row steps end too early")
                row += steps[at]
                at += 1
                if steps[at - 1] != 0xFF:
                    break
            column = next(columns) + (column if row == before else 0)
            require(column < ROW_WORDS, "column")
            mine.append(ROW_WORDS * row + column)
        positions.append(mine)
    require(at == len(steps), "row steps left over")
    return positions


def read_bits(data, sizes, counts):
    positions = []
    for size, count in zip(sizes, counts):
        mine, data = data[:(size + 7) // 8], data[(size + 7) // 8:]
        mine = [8 * j + k for j, byte in enumerate(mine) for k in range(8) if byte >> k & 1]
        require(len(mine) == count, "bits")
        require(all(p < size for p in mine), "bits past the last word")
        positions.append(mine)
    return positions


def read_dense(codec, reader, bases):
    """The next words of every coded tile, for the codecs that send something for every word."""
    total = sum(map(len, bases))
    data, result = unzstd(reader.block(), 2 * total), []
    words = words_of(data)
    if codec == "planes-zstd":
        words = [low | high << 8 for low, high in zip(data[:total], data[total:])]
    for base in bases:
        mine, words = words[:len(base)], words[len(base):]
        result.append(mine if codec == "full-zstd" else [a ^ b for a, b in zip(mine, base)])
    return result


def read_lists(codec, reader, bases, counts):
    """(positions, next words) of every coded tile, for the codecs that send changes."""
    total = sum(counts)
    if codec == "index-value":
        return [(reader.ints("%dI" % c), reader.ints("%dH" % c)) for c in counts]
    if codec == "gap-xor-zstd":
        gaps = words_of(unzstd_array(reader, 2 * reader.int("I")))
        values = words_of(unzstd_array(reader, 2 * total))
        positions = read_gaps(gaps, counts)
    elif codec == "coo-zstd":
        steps = unzstd_array(reader, reader.int("I"))
        columns = words_of(unzstd_array(reader, 2 * total))
        values = words_of(unzstd_array(reader, 2 * total))
        positions = read_rows(steps, columns, counts)
    else:
        require(codec == "bitmask-zstd", "codec " + codec)
        bits = unzstd_array(reader, sum((len(base) + 7) // 8 for base in bases))
        values = words_of(unzstd_array(reader, 2 * total))
        positions = read_bits(bits, map(len, bases), counts)
    result = []
    for base, places in zip(bases, positions):
        mine, values = values[:len(places)], values[len(places):]
        require(all(p < len(base) for p in places), "positions")
        if codec == "gap-xor-zstd":
            mine = [base[p] ^ mask for p, mask in zip(places, mine)]
        result.append((places, mine))
    return result


def decode_body(codec, body, tiles):
    """tiles: (mode, changed, base words); returns the next words of every tile."""
    reader = Reader(body)
    result = [words_of(reader.take(2 * len(base))) if mode == RAW else list(base)
              for mode, _, base in tiles]
    coded = [i for i, tile in enumerate(tiles) if tile[0] == CODED]
    bases = [tiles[i][2] for i in coded]
    modes = [mode for mode, _, _ in tiles]
    require(codec in CODECS, "codec " + codec)
    if codec == "full":
        require(modes == [RAW] * len(tiles), "full: mode")
    elif codec == "full-zstd":
        require(modes == [CODED] * len(tiles), "full-zstd: mode")
    else:
        require(all((mode == EMPTY) == (c == 0) for mode, c, _ in tiles), "mode and count")
    if codec in ("xor-zstd", "planes-zstd"):
        require(RAW not in modes, codec + ": mode")
    if coded and codec in ("full-zstd", "xor-zstd", "planes-zstd"):
        decoded = read_dense(codec, reader, bases)
    elif coded and codec in ("xc", "cf"):
        decoded = oracle_xc.decode_tiles(codec, reader, bases, [tiles[i][1] for i in coded])
    else:
        lists = read_lists(codec, reader, bases, [tiles[i][1] for i in coded]) if coded else []
        decoded = [apply_list(base, *pair) for base, pair in zip(bases, lists)]
    for i, words in zip(coded, decoded):
        result[i] = words
    reader.finish()
    return result
