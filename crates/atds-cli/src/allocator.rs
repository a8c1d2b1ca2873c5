//! An allocator that gives large memory back to the system as soon as it is freed.
//!
//! The C library's keeps some of it, so that a process has more than the memory limit: with glibc and 16
//! threads, values of some MB took 1.7 GB under a limit of 256 MiB. What the pipeline uses again it keeps
//! itself, and counts.
#![allow(unsafe_code)] // `GlobalAlloc` is: whoever implements it promises that its memory is valid.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{copy_nonoverlapping, null_mut};

use rustix::mm::{MapFlags, MremapFlags, ProtFlags, mmap_anonymous, mremap, munmap};

/// Size in bytes from which memory is mapped. Mapping and its first use take some 100 µs for each MB,
/// and the C library keeps little of what is smaller.
const LARGE: usize = 1 << 20;

/// The smallest page of a machine: a mapping is aligned to it.
const PAGE: usize = 4 << 10;

/// The system's allocator, but large memory is mapped, and unmapped when it is freed. For Linux.
#[derive(Debug)]
pub struct Allocator;

fn is_large(size: usize, align: usize) -> bool {
    size >= LARGE && align <= PAGE
}

fn map(size: usize) -> *mut u8 {
    // SAFETY: a new mapping, where the system has room for it.
    let mapped = unsafe {
        mmap_anonymous(
            null_mut(),
            size,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )
    };
    mapped.map_or(null_mut(), |start| start.cast())
}

// SAFETY: memory is the system allocator's, or a mapping of its own; its size and alignment say which,
// when it is made and when it is freed. Nothing here unwinds.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match is_large(layout.size(), layout.align()) {
            true => map(layout.size()),
            // SAFETY: the caller's promise is the same.
            false => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match is_large(layout.size(), layout.align()) {
            true => map(layout.size()),
            // SAFETY: the caller's promise is the same.
            false => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if is_large(layout.size(), layout.align()) {
            // SAFETY: a whole mapping of this size, which the caller does not use any more. It cannot
            // fail, but where the system lacks memory to note it: then the mapping stays.
            let _ = unsafe { munmap(memory.cast(), layout.size()) };
        } else {
            // SAFETY: the caller's promise is the same.
            unsafe { System.dealloc(memory, layout) }
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (old, align) = (layout.size(), layout.align());
        match (is_large(old, align), is_large(size, align)) {
            // SAFETY: the caller's promise is the same.
            (false, false) => return unsafe { System.realloc(memory, layout, size) },
            (true, true) => {
                // SAFETY: a whole mapping of this size.
                let moved = unsafe { mremap(memory.cast(), old, size, MremapFlags::MAYMOVE) };
                if let Ok(start) = moved {
                    return start.cast();
                }
            }
            _ => {}
        }
        // SAFETY: the caller promises that `size` is not 0 and makes a layout with this alignment. The old
        // memory is valid and another.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, align));
            if !new.is_null() {
                copy_nonoverlapping(memory, new, old.min(size));
                self.dealloc(memory, layout);
            }
            new
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_keeps_its_bytes_whatever_size_it_gets() {
        let layout = |size, align| Layout::from_size_align(size, align).expect("a layout");
        for align in [1, 64, 2 * PAGE] {
            let mut size = 100;
            // SAFETY: each layout is that of the memory as it is, and nothing else is read or written.
            unsafe {
                let mut memory = Allocator.alloc_zeroed(layout(size, align));
                for next in [
                    200,
                    LARGE - 1,
                    LARGE,
                    5 * LARGE + 1,
                    LARGE + 7,
                    300,
                    2 * LARGE,
                    50,
                ] {
                    *memory.add(size - 1) = 7;
                    *memory = 9;
                    memory = Allocator.realloc(memory, layout(size, align), next);
                    assert_eq!(memory.align_offset(align), 0);
                    assert_eq!(*memory, 9, "{size} to {next}");
                    if next >= size {
                        assert_eq!(*memory.add(size - 1), 7, "{size} to {next}");
                    }
                    size = next;
                }
                Allocator.dealloc(memory, layout(size, align));
                for size in [100, LARGE + 1] {
                    let zeros = Allocator.alloc_zeroed(layout(size, align));
                    assert_eq!((*zeros, *zeros.add(size - 1)), (0, 0));
                    Allocator.dealloc(zeros, layout(size, align));
                }
            }
        }
    }
}
