#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod csr;
mod error;
mod files;
mod framer;
mod header;
mod limits;
mod packing;
mod reader;
pub mod reference;
mod row;
mod writer;

pub use csr::{Csr, Filled};
pub use error::{Error, ErrorKind};
pub use files::{FileWriter, open};
pub use framer::{Block, Frame, Framer};
pub use header::Header;
pub use limits::Limits;
pub use packing::{Compression, Packer, unpack};
pub use reader::RowReader;
pub use row::{Cells, Row, Rows, UncheckedRow};
pub use writer::{Index, Writer};
