//! Models that loom runs in all orders of their threads: the parts of a builder as they are, with a
//! builder of which loom sees each access. `make test` runs them.
#![allow(clippy::unwrap_used)]

use std::sync::Mutex;

use loom::cell::UnsafeCell;
use loom::thread;

use super::Part;

/// loom's `Arc`, with `into_inner`, which it lacks.
pub(super) struct Arc<T> {
    shared: loom::sync::Arc<Returned<T>>,
    returned: std::sync::Arc<Mutex<Option<T>>>,
}

/// Returns the value when the last `Arc` of it is dropped.
struct Returned<T> {
    value: Option<T>,
    to: std::sync::Arc<Mutex<Option<T>>>,
}

impl<T> Arc<T> {
    pub(super) fn new(value: T) -> Self {
        let returned = std::sync::Arc::default();
        let shared = loom::sync::Arc::new(Returned {
            value: Some(value),
            to: std::sync::Arc::clone(&returned),
        });
        Arc { shared, returned }
    }

    pub(super) fn into_inner(this: Self) -> Option<T> {
        let Arc { shared, returned } = this;
        drop(shared);
        // loom runs no other thread between a drop and this.
        returned.lock().unwrap().take()
    }
}

impl<T> Clone for Arc<T> {
    fn clone(&self) -> Self {
        Arc {
            shared: self.shared.clone(),
            returned: self.returned.clone(),
        }
    }
}

impl<T> std::ops::Deref for Arc<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.shared.value.as_ref().unwrap()
    }
}

impl<T> Drop for Returned<T> {
    fn drop(&mut self) {
        *self.to.lock().unwrap() = self.value.take();
    }
}

/// In place of a builder.
struct Rows(Vec<UnsafeCell<()>>);

/// In place of slots.
struct Row(&'static mut UnsafeCell<()>);

impl Rows {
    fn parts(rows: usize) -> Vec<Part<Row, Rows>> {
        let cells = (0..rows).map(|_| UnsafeCell::new(())).collect();
        Part::of(Rows(cells), |rows| rows.0.iter_mut().map(Row).collect())
    }

    fn read(&self) {
        self.0.iter().for_each(|cell| cell.with(|_| ()));
    }
}

impl Row {
    fn write(&self) {
        self.0.with_mut(|_| ());
    }
}

/// The memory is freed.
impl Drop for Rows {
    fn drop(&mut self) {
        self.0.iter().for_each(|cell| cell.with_mut(|_| ()));
    }
}

/// The borrow ends.
impl Drop for Row {
    fn drop(&mut self) {
        self.write();
    }
}

/// The thread that ends its part last gets the builder, once all parts are written.
#[test]
fn the_last_part_returns_the_builder() {
    loom::model(|| {
        let threads: Vec<_> = Rows::parts(3)
            .into_iter()
            .map(|part| {
                thread::spawn(move || {
                    part.value.write();
                    part.end().inspect(Rows::read).is_some()
                })
            })
            .collect();
        let returned = threads.into_iter().map(|thread| thread.join().unwrap());
        assert_eq!(returned.filter(|&is_last| is_last).count(), 1);
    });
}

/// Parts that are dropped, as those of a worker that panics, return nothing, and the last part frees the
/// builder or returns it.
#[test]
fn dropped_parts_are_not_waited_for() {
    loom::model(|| {
        let mut parts = Rows::parts(3).into_iter();
        let (first, second, ended) = (parts.next(), parts.next(), parts.next().unwrap());
        let dropping = [first, second].map(|part| {
            thread::spawn(move || {
                part.as_ref().unwrap().value.write();
                drop(part);
            })
        });
        ended.value.write();
        let builder = ended.end();
        builder.iter().for_each(Rows::read);
        drop(builder);
        dropping
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    });
}
