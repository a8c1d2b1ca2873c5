//! A limit on the memory that Rust code allocates for an input. libFuzzer's `-rss_limit_mb` limits
//! C libraries.
#![allow(unsafe_code)] // An allocator is unsafe by its trait.

use std::alloc::{GlobalAlloc, Layout, System};
use std::process::abort;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::properties::{Memory, Property};

/// Checks the property with `input`. Ends the process if that takes more memory than allowed.
pub fn check_within(property: &Property, input: &[u8]) {
    let Memory { fixed, per_byte } = property.memory;
    let most = fixed + per_byte * input.len();
    MOST.store(LIVE.load(Relaxed) + most, Relaxed);
    (property.check)(input);
    MOST.store(usize::MAX, Relaxed);
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Number of bytes allocated now.
static LIVE: AtomicUsize = AtomicUsize::new(0);
/// Maximum of `LIVE`.
static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The system's allocator, which counts bytes.
struct Counting;

impl Counting {
    fn count(bytes: usize) {
        let live = LIVE.fetch_add(bytes, Relaxed).saturating_add(bytes);
        // A panic may allocate any memory for its message and backtrace.
        if live > MOST.load(Relaxed) && !std::thread::panicking() {
            // From here on there is no limit, so that the message can be allocated.
            MOST.store(usize::MAX, Relaxed);
            eprintln!("{bytes} bytes more are too many for this input");
            abort();
        }
    }
}

// SAFETY: every call is passed on to `System`. Counting does not panic or allocate, except on the
// way to `abort`.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::count(layout.size());
        // SAFETY: the caller's promise is the one that `System` needs.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::count(layout.size());
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old and the new block can exist at the same time.
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
