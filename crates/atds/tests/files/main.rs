//! Which files are read, and special files: pipes, and files packed as a whole.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod formats;
mod index;
mod known_blocks;
mod layouts;
#[cfg(unix)]
mod once;
mod packed;
mod replaced;
mod search;
mod stale;
