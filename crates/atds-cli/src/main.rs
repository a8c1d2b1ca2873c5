//! The atds command.
fn main() {}
