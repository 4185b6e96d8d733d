#!/usr/bin/env python3
"""A second decoder of .rfd files, written from engine/codec/FORMAT.md alone.

    oracle.py DELTA.rfd BASE.bin NEXT.bin   decodes one file (canonical words, raw)
    oracle.py --check FOLDER                every FOLDER/*.rfd against base.bin and next.bin, and
                                            FOLDER/checkpoint: whole files, opaque items included;
                                            FOLDER/steps: xc and cf with steps of many sizes
    oracle.py --example                     prints the worked example of FORMAT.md

Exit code 77 from --check: nothing here can read zstd frames.
"""
import hashlib
import json
import pathlib
import struct
import sys

sys.dont_write_bytecode = True  # the folder holds golden files and nothing else
import oracle_xc  # noqa: E402
from oracle_codecs import (CODECS, CODED, Reader, apply_list, bytes_of,  # noqa: E402
                           can_unzstd, decode_body, require, unzstd, words_of)

M64 = (1 << 64) - 1
TILE_WORDS, SHARE_BELOW = 1 << 19, 1 << 16
ROW, COLUMN = 0x526F7700, 0x436F6C00
OPAQUE_TILE_BYTES = 786432


def sha(data):
    return hashlib.sha256(data).digest()


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

def read_head(reader):
    """Mode, changed words, digest of the base, digest of the next words."""
    mode, before = reader.ints("BQ")
    changed, after = reader.ints("IQ") if mode else (0, before)
    return mode, changed, before, after


def decode_unit(reader, delta, unit, base):
    """Next words per tile, and the digests they are checked against."""
    first, count = reader.ints("II")
    require((first, count) == (unit[0], len(unit)), "another unit")
    heads = [read_head(reader) for _ in unit]
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
        self.read_open(read_packed_alone(records[0][1]), records[1][1])
        block = records[-2][1] if attached else None
        self.attachments = read_attachments(block) if attached else {}
        self.opaque = read_opaque_table(self.attachments.get("opaque"))
        self.units += [OpaqueTile(item, tile) for item, what in enumerate(self.opaque)
                       for tile in range(-(-what.size // OPAQUE_TILE_BYTES))]
        self.read_parts(records[2:2 + 2 * parts])
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

    def decode(self, base, opaque_base=None):
        """Next words; the next bytes of opaque items go to their `next`."""
        require(len(base) == sum(t.words for t in self.tensors), "words of the base")
        result, digests = list(base), []
        for payload, units in self.payloads:
            reader = Reader(payload)
            for unit in units:
                if isinstance(unit, OpaqueTile):
                    item = self.opaque[unit.item]
                    item.next += decode_opaque(reader, unit, item, (opaque_base or {}).get(item.name))
                    continue
                decoded, unit_digests = decode_unit(reader, self, unit, base)
                digests += unit_digests
                for i, words in zip(unit, decoded):
                    for tensor, first, count in self.tiles[i]:
                        at = self.tensors[tensor].first + first
                        result[at:at + count], words = words[:count], words[count:]
            reader.finish()
        require(version_id(self.catalog, self.salt, digests) == self.next_version, "version id")
        for item in self.opaque:
            require(sha(item.next) == item.hash, "hash of an opaque item")
        require(sum(a != b for a, b in zip(base, result)) == self.changed, "changed words")
        return result


def read_packed(reader):
    method, size = reader.ints("BQ")
    stored = reader.block()
    require(method in (0, 1) and size <= 64 * len(stored) + 63, "packed bytes")
    data = unzstd(stored, size) if method else stored
    require(len(data) == size, "size of packed bytes")
    return data


def read_packed_alone(data):
    reader = Reader(data)
    unpacked = read_packed(reader)
    reader.finish()
    return unpacked


def read_attachments(block):
    reader, found = Reader(block), {}
    for _ in range(reader.int("I")):
        name = reader.block().decode()
        found[name] = read_packed(reader)
    reader.finish()
    return found


class OpaqueItem:
    def __init__(self, reader):
        self.kind, self.has_base = reader.ints("BB")
        self.name = reader.block()
        self.size, self.changed, self.payload_bytes = reader.ints("QQQ")
        self.hash = reader.take(32)
        self.next = b""


class OpaqueTile:
    def __init__(self, item, tile):
        self.item, self.tile = item, tile


def read_opaque_table(data):
    if data is None:
        return []
    reader = Reader(data)
    require(reader.block() == b"refit.opaque/1", "table of opaque items")
    items = [OpaqueItem(reader) for _ in range(reader.int("I"))]
    reader.finish()
    keys = [(item.kind, item.name) for item in items]
    require(keys == sorted(set(keys)), "order of opaque items")
    return items


def decode_opaque(reader, unit, item, base):
    require(reader.ints("II") == (unit.item, unit.tile), "another opaque unit")
    mode = reader.int("B")
    body = reader.block()
    first = unit.tile * OPAQUE_TILE_BYTES
    size = min(OPAQUE_TILE_BYTES, item.size - first)
    require(mode in (0, 1, 2), "mode of an opaque unit")
    if mode == 0:
        require(item.has_base and base is not None and not body, "empty opaque unit")
        return base[first:first + size]
    following = unzstd(body, size) if mode == 2 else body
    require(len(following) == size, "length of an opaque unit")
    return following


# --- whole checkpoints ---------------------------------------------------------------------------

def read_safetensors(data):
    """Header bytes, and the bytes of each tensor by name."""
    header = 8 + int.from_bytes(data[:8], "little")
    entries = json.loads(data[8:header])
    entries.pop("__metadata__", None)
    spans = {name.encode(): entry["data_offsets"] for name, entry in entries.items()}
    return data[:header], {name: data[header + a:header + b] for name, (a, b) in spans.items()}


def decode_checkpoint(delta, base):
    """The one file of the next checkpoint."""
    _, tensors = read_safetensors(base)
    words = delta.decode(words_of(b"".join(tensors[t.name] for t in delta.tensors)), tensors)
    parts = {item.name: item.next for item in delta.opaque}
    for t in delta.tensors:
        parts[t.name] = bytes_of(words[t.first:t.first + t.words])
    headers = [data for name, data in delta.attachments.items() if name.startswith("file/")]
    require(len(headers) == 1 and "directory" not in delta.attachments, "one file")
    offsets = json.loads(headers[0][8:])
    offsets.pop("__metadata__", None)
    order = sorted(offsets, key=lambda name: offsets[name]["data_offsets"])
    require(sorted(name.encode() for name in order) == sorted(parts), "tensors of the header")
    return headers[0] + b"".join(parts[name.encode()] for name in order)


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
    unit = struct.pack("<IIBQIQ", 0, 1, CODED, digests[0], 2, digests[1]) + struct.pack("<I", len(body)) + body
    show("unit, index-value", unit)
    show("gaps, gap-xor-zstd", bytes_of([1, 4]))
    show("XOR words, gap-xor-zstd", bytes_of([0x0001, 0x8000]))
    masks = bytes_of([a ^ b for a, b in zip(base, following)])
    show("XOR words, xor-zstd", masks)
    show("planes, planes-zstd", masks[::2] + masks[1::2])
    show("row steps, coo-zstd", bytes([0, 0]))
    show("columns, coo-zstd", bytes_of([1, 6 - 1]))
    show("next words, coo-zstd", bytes_of([0x3F81, 0x0000]))
    show("bits, bitmask-zstd", bytes([1 << 1 | 1 << 6]))
    for label, data in zip(("tables, xc", "payload, xc"), oracle_xc.example()):
        show(label, data)


def check(folder):
    if not can_unzstd():
        print("skipped: neither the Python module zstandard nor the zstd command is here")
        return 77
    print("h(q): %d printed values are the formula's" % oracle_xc.check_printed_rows())
    faults = check_words(folder, CODECS) + check_words(folder / "steps", ("xc", "cf"))
    return 1 if faults else check_checkpoint(folder / "checkpoint")


def check_words(folder, codecs):
    """How many of FOLDER/*.rfd do not lead from base.bin to next.bin."""
    base = words_of((folder / "base.bin").read_bytes())
    following = (folder / "next.bin").read_bytes()
    files = {file.stem: file for file in folder.glob("*.rfd")}
    require(sorted(files) == sorted(codecs), "one golden file per codec")
    faults = 0
    for codec, file in sorted(files.items()):
        try:
            delta = Delta(file.read_bytes())
            require(delta.codec == codec, "another codec")
            exact = bytes_of(delta.decode(base)) == following
            verdict = "exact" if exact else "differs"
        except ValueError as error:
            exact, verdict = False, "refused: %s" % error
        print("%s/%s: %s" % (folder.name, file.name, verdict))
        faults += not exact
    return faults


def check_checkpoint(folder):
    delta = Delta((folder / "delta.rfd").read_bytes())
    require(len(delta.opaque) > 1, "opaque items")
    result = decode_checkpoint(delta, (folder / "base.safetensors").read_bytes())
    exact = result == (folder / "next.safetensors").read_bytes()
    print("checkpoint: %s" % ("exact" if exact else "differs"))
    return 0 if exact else 1


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
