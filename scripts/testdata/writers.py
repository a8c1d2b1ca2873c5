"""The two writers. Sync markers, which both draw at random, are derived from the name of the file."""

import hashlib
import importlib.metadata
import json

import avro.datafile
import avro.io
import avro.schema
import fastavro

VERSIONS = {name: f"{name} {importlib.metadata.version(name)}" for name in ("fastavro", "avro")}
CODECS = {
    "fastavro": ("null", "deflate", "snappy", "zstandard", "bzip2", "xz"),
    "avro": ("null", "deflate", "snappy", "zstandard", "bzip2"),
}

# A case decides where blocks end; no block ends at a number of bytes.
NO_SYNC_INTERVAL = 1 << 30
avro.datafile.SYNC_INTERVAL = NO_SYNC_INTERVAL


def write(case, path):
    """Write the records of the case to `path` with its writer."""
    {"fastavro": _write_fastavro, "avro": _write_avro}[case.writer](
        case, path, hashlib.md5(case.name.encode()).digest()
    )


def _write_fastavro(case, path, sync_marker):
    with open(path, "wb") as out:
        writer = fastavro.write.Writer(
            out,
            fastavro.parse_schema(case.schema),
            codec=case.codec,
            sync_interval=NO_SYNC_INTERVAL,
            metadata=case.metadata,
            sync_marker=sync_marker,
        )
        for start in range(0, len(case.records), case.block_records):
            for record in case.records[start : start + case.block_records]:
                writer.write(record)
            writer.flush()


def _write_avro(case, path, sync_marker):
    schema = avro.schema.parse(json.dumps(case.schema))
    with avro.datafile.DataFileWriter(
        open(path, "wb"), avro.io.DatumWriter(), schema, codec=case.codec
    ) as writer:
        writer.sync_marker = sync_marker
        for key, value in case.metadata.items():
            writer.set_meta(key, value.encode())
        for start in range(0, len(case.records), case.block_records):
            for record in case.records[start : start + case.block_records]:
                writer.append(record)
            writer.sync()
