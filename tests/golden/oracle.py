#!/usr/bin/env python3
"""A second decoder of .rfd files, written from engine/codec/FORMAT.md alone.

    oracle.py DELTA.rfd BASE.bin NEXT.bin   decodes one file (canonical words, raw)
    oracle.py --check FOLDER                every FOLDER/*.rfd against base.bin and next.bin
    oracle.py --example                     prints the worked example of FORMAT.md

Exit code 77 from --check: nothing here can read zstd frames.
"""
import hashlib
import pathlib
import shutil
import struct
import subprocess
import sys

M64 = (1 << 64) - 1
TILE_WORDS, SHARE_BELOW = 1 << 19, 1 << 16
ROW, COLUMN = 0x526F7700, 0x436F6C00
EMPTY, RAW, CODED = 0, 1, 2
CODECS = ("full", "full-zstd", "xor-zstd", "gap-xor-zstd", "index-value")


def sha(data):
    return hashlib.sha256(data).digest()


def require(condition, what):
    if not condition:
        raise ValueError(what)


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


# --- 1. catalog, grid, units -------------------------------------------------------------------

class Tensor:
    def __init__(self, name, kind, shape):
        self.name, self.kind, self.shape = name, kind, shape
        self.columns = shape[-1] if shape else 1
        self.rows = 1
        for extent in shape[:-1]:
            self.rows *= extent
        self.words = self.rows * self.columns
        self.first = 0


def read_catalog(data):
    reader = Reader(data)
    require(reader.block() == b"refit.catalog/1", "catalog format")
    tensors, first = [], 0
    for _ in range(reader.int("I")):
        name = reader.block()
        kind, rank = reader.ints("BB")
        tensor = Tensor(name, kind, reader.ints("%dQ" % rank))
        require(not tensors or tensors[-1].name < name, "catalog order")
        tensor.first, first = first, first + tensor.words
        tensors.append(tensor)
    reader.finish()
    return tensors


def catalog_bytes(tensors):
    out = struct.pack("<I", 15) + b"refit.catalog/1" + struct.pack("<I", len(tensors))
    for t in tensors:
        out += struct.pack("<I", len(t.name)) + t.name
        out += struct.pack("<BB%dQ" % len(t.shape), t.kind, len(t.shape), *t.shape)
    return out


def split(total, parts):
    starts = [total // parts * i + min(i, total % parts) for i in range(parts + 1)]
    return list(zip(starts, starts[1:]))


def make_grid(tensors):
    """Tiles as lists of pieces (tensor id, first word, words)."""
    tiles, shared = [], {}
    for i, t in enumerate(tensors):
        if t.words == 0:
            continue
        if t.words >= SHARE_BELOW and t.columns <= TILE_WORDS:
            bands = -(-t.rows // (TILE_WORDS // t.columns))
            tiles += [[(i, a * t.columns, (b - a) * t.columns)] for a, b in split(t.rows, bands)]
        elif t.words >= SHARE_BELOW:
            runs = split(t.columns, -(-t.columns // TILE_WORDS))
            tiles += [[(i, r * t.columns + a, b - a)] for r in range(t.rows) for a, b in runs]
        else:
            digits = set(b"0123456789")
            name = b".".join(b"*" if c and set(c) <= digits else c for c in t.name.split(b"."))
            tile = shared.get((name, t.kind))
            if tile is None or sum(p[2] for p in tile) + t.words > TILE_WORDS:
                tile = shared[name, t.kind] = []
                tiles.append(tile)
            tile.append((i, 0, t.words))
    return sorted(tiles, key=lambda tile: tile[0][:2])


def grid_id(tiles):
    out = b"refit.grid/1"
    for tile in tiles:
        out += struct.pack("<I", len(tile)) + b"".join(struct.pack("<IQQ", *p) for p in tile)
    return sha(out)


def make_units(tiles, unit_words):
    units, words = [], 0
    for i, tile in enumerate(tiles):
        size = sum(p[2] for p in tile)
        if not units or words + size > unit_words:
            units.append([])
            words = 0
        units[-1].append(i)
        words += size
    return units


# --- 2. digest -----------------------------------------------------------------------------------

def key(salt, tensor, axis, index):
    z = salt ^ (axis * 0xD1B54A32D192ED03 & M64)
    z = (z ^ (tensor + 0x9E3779B97F4A7C15 & M64)) * 0xBF58476D1CE4E5B9 & M64
    z = (z ^ z >> 29 ^ index) * 0x94D049BB133111EB & M64
    z = (z ^ z >> 31) * 0xBF58476D1CE4E5B9 & M64
    return (z ^ z >> 30) | 1


def digest(tensors, tile, words, salt):
    total, at = 0, 0
    for tensor, first, count in tile:
        columns = tensors[tensor].columns
        rows = {r: key(salt, tensor, ROW, r)
                for r in range(first // columns, (first + count - 1) // columns + 1)}
        keys = [key(salt, tensor, COLUMN, c) for c in range(columns)]
        for k in range(first, first + count):
            total += rows[k // columns] * keys[k % columns] * words[at]
            at += 1
    return total & M64


def version_id(catalog, salt, digests):
    return sha(catalog + struct.pack("<Q", salt) + struct.pack("<%dQ" % len(digests), *digests))


# --- 3. unit -------------------------------------------------------------------------------------

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


def decode_body(codec, body, tiles):
    """tiles: (mode, changed, base words); returns the next words of every tile."""
    reader = Reader(body)
    result = [words_of(reader.take(2 * len(base))) if mode == RAW else list(base)
              for mode, _, base in tiles]
    coded = [i for i, tile in enumerate(tiles) if tile[0] == CODED]
    words = sum(len(tiles[i][2]) for i in coded)
    counts = [tiles[i][1] for i in coded]
    if codec == "full":
        require(all(mode == RAW for mode, _, _ in tiles), "full: mode")
    elif codec == "full-zstd":
        require(len(coded) == len(tiles), "full-zstd: mode")
    else:
        require(all((mode == EMPTY) == (c == 0) for mode, c, _ in tiles), "mode and count")
    if coded and codec in ("full-zstd", "xor-zstd"):
        stream = words_of(unzstd(reader.block(), 2 * words))
        for i in coded:
            mine, stream = stream[:len(tiles[i][2])], stream[len(tiles[i][2]):]
            if codec == "xor-zstd":
                mine = [mask ^ word for mask, word in zip(mine, tiles[i][2])]
            result[i] = mine
    elif coded and codec == "gap-xor-zstd":
        count = reader.int("I")
        gaps = words_of(unzstd(reader.block(), 2 * count))
        masks = words_of(unzstd(reader.block(), 2 * sum(counts)))
        for i, positions in zip(coded, read_gaps(gaps, counts)):
            base = tiles[i][2]
            mine, masks = masks[:len(positions)], masks[len(positions):]
            require(all(p < len(base) for p in positions), "positions")
            result[i] = apply_list(base, positions, [base[p] ^ m for p, m in zip(positions, mine)])
    elif coded and codec == "index-value":
        for i, count in zip(coded, counts):
            positions = reader.ints("%dI" % count)
            result[i] = apply_list(tiles[i][2], positions, reader.ints("%dH" % count))
    else:
        require(not coded and codec in CODECS, "codec " + codec)
    reader.finish()
    return result


def decode_unit(reader, delta, unit, base):
    """Next words per tile, and the digests they are checked against."""
    first, count = reader.ints("II")
    require((first, count) == (unit[0], len(unit)), "another unit")
    heads = [reader.ints("BIQQ") for _ in unit]
    body = reader.block()
    tiles = []
    for i, (mode, changed, base_digest, _) in zip(unit, heads):
        words = [w for t, a, n in delta.tiles[i]
                 for w in base[delta.tensors[t].first + a:delta.tensors[t].first + a + n]]
        require(digest(delta.tensors, delta.tiles[i], words, delta.salt) == base_digest,
                "tile %d: wrong base" % i)
        tiles.append((mode, changed, words))
    decoded = decode_body(delta.codec, body, tiles)
    for i, head, tile, words in zip(unit, heads, tiles, decoded):
        require(sum(a != b for a, b in zip(tile[2], words)) == head[1], "changed words")
        require(digest(delta.tensors, delta.tiles[i], words, delta.salt) == head[3],
                "tile %d: digest of the next words" % i)
    return decoded, [head[3] for head in heads]


# --- 4, 5. manifest and file ---------------------------------------------------------------------

class Delta:
    def __init__(self, data):
        reader = Reader(data)
        require(reader.take(8) == b"REFITRFD" and reader.int("I") == 1, "not a delta file")
        records = []
        while reader.at < len(data):
            kind, size = reader.ints("BQ")
            records.append((kind, reader.take(size)))
            reader.int("Q")  # XXH3: guards against accidents; SHA-256 below covers the same bytes
        kinds = bytes(kind for kind, _ in records)
        parts = kinds.count(3)
        attached = kinds.count(5)
        require(kinds == b"\1\2" + b"\3\4" * parts + b"\5" * attached + b"\6", "order of records")
        self.read_open(records[0][1], records[1][1])
        self.read_parts(records[2:2 + 2 * parts])
        block = records[-2][1] if attached else None
        self.attachments = read_attachments(block) if attached else {}
        self.read_seal(records[-1][1], sha(block) if attached else bytes(32))

    def read_open(self, catalog, record):
        self.tensors = read_catalog(catalog)
        self.tiles = make_grid(self.tensors)
        self.catalog = sha(catalog)
        self.previous = sha(record)
        reader = Reader(record)
        require(reader.take(4) == b"RFO1", "open record")
        require(reader.take(32) == self.catalog, "catalog id")
        require(reader.take(32) == grid_id(self.tiles), "grid id")
        self.codec = reader.block().decode()
        self.salt, self.number, self.attempt = reader.ints("QQQ")
        self.base_version, self.base_delta = reader.take(32), reader.take(32)
        unit_words, self.chunk_bytes = reader.ints("QI")
        reader.finish()
        self.units = make_units(self.tiles, unit_words)

    def read_parts(self, records):
        self.payloads, units, chunks = [], 0, 0
        for (_, record), (_, payload) in zip(records[::2], records[1::2]):
            reader = Reader(record)
            require(reader.take(4) == b"RFP1", "part record")
            require(reader.int("I") == len(self.payloads), "part index")
            require(reader.take(32) == self.previous, "chain of parts")
            first_unit, unit_count, first_chunk = reader.ints("III")
            require((first_unit, first_chunk) == (units, chunks), "numbering")
            require(reader.take(32) == sha(payload), "payload hash")
            slices = [payload[i:i + self.chunk_bytes]
                      for i in range(0, len(payload), self.chunk_bytes)]
            require(reader.int("I") == len(slices), "chunks")
            for piece in slices:
                require(reader.int("I") == len(piece) and reader.take(32) == sha(piece), "chunk")
            reader.finish()
            self.previous = sha(record)
            self.payloads.append((payload, self.units[units:units + unit_count]))
            units, chunks = units + unit_count, chunks + len(slices)
        require(units == len(self.units), "units")
        self.chunks = chunks

    def read_seal(self, record, attachments):
        reader = Reader(record)
        require(reader.take(4) == b"RFS1", "seal")
        require(reader.take(32) == self.previous, "chain to the seal")
        parts, chunks, units, self.changed, size = reader.ints("IIQQQ")
        require((parts, chunks, units) == (len(self.payloads), self.chunks, len(self.units)),
                "totals of the seal")
        require(size == sum(len(payload) for payload, _ in self.payloads), "payload bytes")
        self.next_version = reader.take(32)
        require(reader.take(32) == attachments, "attachments")
        reader.finish()

    def decode(self, base):
        require(len(base) == sum(t.words for t in self.tensors), "words of the base")
        result, digests = list(base), []
        for payload, units in self.payloads:
            reader = Reader(payload)
            for unit in units:
                decoded, unit_digests = decode_unit(reader, self, unit, base)
                digests += unit_digests
                for i, words in zip(unit, decoded):
                    for tensor, first, count in self.tiles[i]:
                        at = self.tensors[tensor].first + first
                        result[at:at + count], words = words[:count], words[count:]
            reader.finish()
        require(version_id(self.catalog, self.salt, digests) == self.next_version, "version id")
        require(sum(a != b for a, b in zip(base, result)) == self.changed, "changed words")
        return result


def read_attachments(block):
    reader, found = Reader(block), {}
    for _ in range(reader.int("I")):
        name = reader.block().decode()
        method, size = reader.ints("BQ")
        stored = reader.block()
        require(method in (0, 1), "method")
        found[name] = unzstd(stored, size) if method else stored
    reader.finish()
    return found


# --- 6. commands ---------------------------------------------------------------------------------

def print_example():
    tensors = [Tensor(b"w", 1, (8,))]
    tiles = make_grid(tensors)
    base = [0x0000, 0x3F80, 0xBF80, 0x7FC1, 0x4000, 0x0001, 0x8000, 0xFF80]
    following = apply_list(base, (1, 6), (0x3F81, 0x0000))
    digests = [digest(tensors, tiles[0], words, 1) for words in (base, following)]

    def show(label, data):
        print("%-24s%s" % (label, data.hex(" ")))

    show("base words", bytes_of(base))
    show("next words", bytes_of(following))
    show("catalog", catalog_bytes(tensors))
    show("catalog id", sha(catalog_bytes(tensors)))
    show("grid id", grid_id(tiles))
    show("key(row 0)", struct.pack("<Q", key(1, 0, ROW, 0)))
    show("key(column 1)", struct.pack("<Q", key(1, 0, COLUMN, 1)))
    show("digest of base", struct.pack("<Q", digests[0]))
    show("digest of next", struct.pack("<Q", digests[1]))
    show("version id of next", version_id(sha(catalog_bytes(tensors)), 1, digests[1:]))
    body = struct.pack("<II", 1, 6) + bytes_of([0x3F81, 0x0000])
    unit = struct.pack("<IIBIQQ", 0, 1, CODED, 2, *digests) + struct.pack("<I", len(body)) + body
    show("unit, index-value", unit)
    show("gaps, gap-xor-zstd", bytes_of([1, 4]))
    show("XOR words, gap-xor-zstd", bytes_of([0x0001, 0x8000]))
    show("XOR words, xor-zstd", bytes_of([a ^ b for a, b in zip(base, following)]))


def check(folder):
    if not can_unzstd():
        print("skipped: neither the Python module zstandard nor the zstd command is here")
        return 77
    base = words_of((folder / "base.bin").read_bytes())
    following = (folder / "next.bin").read_bytes()
    files = {file.stem: file for file in folder.glob("*.rfd")}
    require(sorted(files) == sorted(CODECS), "one golden file per codec")
    for file in files.values():
        try:
            result = bytes_of(Delta(file.read_bytes()).decode(base))
        except ValueError as error:
            print("%s: refused: %s" % (file.name, error))
            return 1
        print("%s: %s" % (file.name, "exact" if result == following else "differs"))
        if result != following:
            return 1
    return 0


def main(arguments):
    if arguments == ["--example"]:
        print_example()
        return 0
    if len(arguments) == 2 and arguments[0] == "--check":
        return check(pathlib.Path(arguments[1]))
    if len(arguments) != 3:
        print(__doc__)
        return 2
    delta, base, following = map(pathlib.Path, arguments)
    result = Delta(delta.read_bytes()).decode(words_of(base.read_bytes()))
    following.write_bytes(bytes_of(result))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
