//! The parser's position in a schema's JSON.

use std::fmt::Write;

/// A JSON pointer under construction. After an error it points to where the parser stopped.
#[derive(Default)]
pub(super) struct Path(Vec<Segment>);

enum Segment {
    Key(&'static str),
    Index(usize),
}

impl Path {
    pub(super) fn at_key(&mut self, key: &'static str) {
        self.0.push(Segment::Key(key));
    }

    pub(super) fn at_index(&mut self, index: usize) {
        self.0.push(Segment::Index(index));
    }

    pub(super) fn leave(&mut self) {
        self.0.pop();
    }

    /// The pointer's text, such as `/fields/3/type`.
    pub(super) fn join(&self) -> String {
        let mut text = String::new();
        for step in &self.0 {
            // Writing to a string cannot fail.
            let _ = match step {
                Segment::Key(key) => write!(text, "/{key}"),
                Segment::Index(index) => write!(text, "/{index}"),
            };
        }
        text
    }
}
