//! A bound on the memory that Rust code allocates for an input. What the C libraries take is
//! bounded by libFuzzer's `-rss_limit_mb`.
#![allow(unsafe_code)] // An allocator is unsafe by its trait.

use std::alloc::{GlobalAlloc, Layout, System};
use std::process::abort;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::properties::{Memory, Property};

/// Checks the property of `input`; ends the process if that takes more memory than it may.
pub fn check_within(property: &Property, input: &[u8]) {
    let Memory { fixed, per_byte } = property.memory;
    let most = fixed + per_byte * input.len();
    MOST.store(LIVE.load(Relaxed) + most, Relaxed);
    (property.check)(input);
    MOST.store(usize::MAX, Relaxed);
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes allocated now.
static LIVE: AtomicUsize = AtomicUsize::new(0);
/// The most that `LIVE` may reach.
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The system's allocator, counting.
struct Counting;

impl Counting {
    fn count(bytes: usize) {
        let live = LIVE.fetch_add(bytes, Relaxed).saturating_add(bytes);
        // A panic that has a message and a backtrace to print takes what it needs.
        if live > MOST.load(Relaxed) && !std::thread::panicking() {
            // Nothing bounds what is allocated from here on, the message's own buffer included.
            MOST.store(usize::MAX, Relaxed);
            eprintln!("{bytes} bytes more are too many for this input");
            abort();
        }
    }
}

// SAFETY: every call goes to `System` as it is; counting neither panics nor allocates, except on
// the way to `abort`.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::count(layout.size());
        // SAFETY: the caller's promise is the one `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::count(layout.size());
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both may be there for a while.
        Self::count(size);
        // SAFETY: as in `alloc`; `block` came from `System`.
        let moved = unsafe { System.realloc(block, layout, size) };
        let gone = if moved.is_null() { size } else { layout.size() };
        LIVE.fetch_sub(gone, Relaxed);
        moved
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as in `realloc`.
        unsafe { System.dealloc(block, layout) }
    }
}
