//! Avro object container files: header, block framing, codecs, block index, writing.
