//! The conformance suite, for the formats of `docs/adding-a-format.md`.

use atds_test_formats::{ColumnFiles, ToyFiles, conformance};

conformance!(toy, &ToyFiles { is_packed: false });
conformance!(toy_packed, &ToyFiles { is_packed: true });
conformance!(columns, &ColumnFiles { group_blocks: 3 });
