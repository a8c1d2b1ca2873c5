//! The fenced blocks of a page.

/// The content of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Schema,
    ReaderSchema,
    Records,
    Features,
    Tensors,
    Error,
}

/// A fenced block.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    /// The line number of the fence, counted from 1.
    pub(crate) line: usize,
}

/// The blocks that are part of examples. A JSON block outside an example is an error, since it
/// would not be run.
pub(crate) fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find("\n```") {
        let fence = &rest[start + 4..];
        let (info, body) = fence.split_once('\n').unwrap();
        let end = if body.starts_with("```") {
            0
        } else {
            body.find("\n```").unwrap() + 1
        };
        let line = page[..page.len() - fence.len()].lines().count();
        let kind = match info {
            "json schema" => Some(Kind::Schema),
            "json reader-schema" => Some(Kind::ReaderSchema),
            "json records" => Some(Kind::Records),
            "json features" => Some(Kind::Features),
            "json tensors" => Some(Kind::Tensors),
            "text error" => Some(Kind::Error),
            "sh" | "text grammar" => None,
            other => panic!("line {line}: a block of '{other}'"),
        };
        let text = &body[..end];
        blocks.extend(kind.map(|kind| Block { kind, text, line }));
        rest = &body[end + 3..];
    }
    blocks
}
