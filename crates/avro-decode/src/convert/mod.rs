//! stub
mod out;
use crate::plan::cursor::{Cursor, Fault};
use crate::plan::leaf::Leaf;
use crate::schema::{Node, NodeId, Schema};
pub(crate) use out::Out;
use tensor_batch::{DType, Strings};

/// Stub.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Convert {
    /// x
    #[default]
    Exact,
    /// x
    Cast,
}
/// x
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// x
    #[error("dtype {asked}")]
    DType {
        /// x
        asked: DType,
    },
}
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Plain(Leaf),
    Other(Box<Conversion>),
}
#[derive(Clone, Debug)]
pub(crate) struct Conversion {}
impl Conversion {
    pub(crate) fn width(&self) -> usize {
        1
    }
    pub(crate) fn read(&self, _cursor: &mut Cursor<'_>, _out: Out<'_>) -> Result<(), Fault> {
        Ok(())
    }
    pub(crate) fn read_strings(
        &self,
        _cursor: &mut Cursor<'_>,
        _n: usize,
        _s: &mut Strings,
    ) -> Result<(), Fault> {
        Ok(())
    }
}
pub(crate) fn source(
    writer: (&Schema, NodeId),
    _reader: (&Schema, NodeId),
    _symbols: Option<&[Option<u32>]>,
    dtype: DType,
    _convert: &Convert,
) -> Result<Source, ConvertError> {
    let leaf = match writer.0.node(writer.1) {
        Node::Int => Leaf::Int,
        Node::Long => Leaf::Long,
        Node::Float => Leaf::Float,
        Node::Double => Leaf::Double,
        Node::Boolean => Leaf::Boolean,
        Node::Bytes => Leaf::Bytes,
        Node::String => Leaf::String,
        _ => return Err(ConvertError::DType { asked: dtype }),
    };
    if leaf.dtype() != dtype {
        return Err(ConvertError::DType { asked: dtype });
    }
    Ok(Source::Plain(leaf))
}
