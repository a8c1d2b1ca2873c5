//! Handing things from one thread to another, in order, a few at a time.
//!
//! Waking a sleeping thread takes longer than making a small batch, and whoever is woken
//! while the lock it needs is held goes back to sleep. So nobody is woken under the lock,
//! nor twice for the same thing, and a sender that has found no room sleeps until there
//! is some for several. The standard library's channels do neither.

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A way for one sender and one receiver. A sender goes on as long as at most `capacity`
/// things wait; where there are more it sleeps until no more than `resume` do.
pub(crate) fn handoff<T>(capacity: usize, resume: usize) -> (Sender<T>, Receiver<T>) {
    let way = Arc::new(Way {
        capacity,
        resume: resume.min(capacity),
        state: Mutex::new(State {
            // One more: that which the sender has no room for.
            items: VecDeque::with_capacity(capacity + 1),
            receiver_sleeps: false,
            sender_sleeps: false,
            is_over: false,
        }),
        arrived: Condvar::new(),
        left: Condvar::new(),
    });
    (Sender(way.clone()), Receiver(way))
}

pub(crate) struct Sender<T>(Arc<Way<T>>);

pub(crate) struct Receiver<T>(Arc<Way<T>>);

/// The other end is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone;

/// Why nothing was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nothing {
    /// There is nothing yet.
    Yet,
    /// Nor will there be: the sender is gone.
    Gone,
}

struct Way<T> {
    capacity: usize,
    resume: usize,
    state: Mutex<State<T>>,
    /// Wakes the receiver.
    arrived: Condvar,
    /// Wakes the sender.
    left: Condvar,
}

struct State<T> {
    items: VecDeque<T>,
    receiver_sleeps: bool,
    sender_sleeps: bool,
    /// One of the two ends is gone.
    is_over: bool,
}

impl<T> Sender<T> {
    /// Sends an item, and waits until there is room for another.
    pub(crate) fn send(&self, item: T) -> Result<(), Gone> {
        self.send_by(item, false)
    }

    /// The same for some items that are at hand: as far as there is room for them, the receiver
    /// is woken when all are there.
    pub(crate) fn send_all(&self, items: impl IntoIterator<Item = T>) -> Result<(), Gone> {
        let mut items = items.into_iter().peekable();
        while let Some(item) = items.next() {
            self.send_by(item, items.peek().is_some())?;
        }
        Ok(())
    }

    /// Sends an item, for which the receiver is not woken if there is room and `more` follow.
    fn send_by(&self, item: T, more: bool) -> Result<(), Gone> {
        let way = &*self.0;
        let mut state = way.lock();
        if state.is_over {
            return Err(Gone);
        }
        state.items.push_back(item);
        let is_full = state.items.len() > way.capacity;
        if more && !is_full {
            return Ok(());
        }
        if mem::take(&mut state.receiver_sleeps) {
            drop(state);
            way.arrived.notify_one();
            if !is_full {
                return Ok(());
            }
            state = way.lock();
        }
        if is_full {
            while state.items.len() > way.resume && !state.is_over {
                state.sender_sleeps = true;
                state = wait(&way.left, state);
            }
            state.sender_sleeps = false;
        }
        match state.is_over {
            true => Err(Gone),
            false => Ok(()),
        }
    }
}

impl<T> Receiver<T> {
    /// The next item, waited for if need be.
    pub(crate) fn recv(&self) -> Result<T, Gone> {
        self.recv_by(None).map_err(|_| Gone)
    }

    /// The next item, if it is there in time.
    pub(crate) fn recv_timeout(&self, timeout: Duration) -> Result<T, Nothing> {
        match Instant::now().checked_add(timeout) {
            None => self.recv().map_err(|Gone| Nothing::Gone),
            deadline => self.recv_by(deadline),
        }
    }

    /// The next item, if it is there.
    pub(crate) fn try_recv(&self) -> Result<T, Nothing> {
        let state = self.0.lock();
        let is_over = state.is_over;
        self.take(state).map_err(|_| match is_over {
            true => Nothing::Gone,
            false => Nothing::Yet,
        })
    }

    fn recv_by(&self, deadline: Option<Instant>) -> Result<T, Nothing> {
        let mut state = self.0.lock();
        loop {
            state = match self.take(state) {
                Ok(item) => return Ok(item),
                Err(state) => state,
            };
            if state.is_over {
                return Err(Nothing::Gone);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Err(Nothing::Yet);
            }
            state.receiver_sleeps = true;
            state = match left {
                None => wait(&self.0.arrived, state),
                Some(left) => {
                    let waited = self.0.arrived.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            state.receiver_sleeps = false;
        }
    }

    /// The next item, or the lock if there is none.
    fn take<'w>(
        &'w self,
        mut state: MutexGuard<'w, State<T>>,
    ) -> Result<T, MutexGuard<'w, State<T>>> {
        let Some(item) = state.items.pop_front() else {
            return Err(state);
        };
        let is_room = state.items.len() <= self.0.resume;
        let wakes = is_room && mem::take(&mut state.sender_sleeps);
        drop(state);
        if wakes {
            self.0.left.notify_one();
        }
        Ok(item)
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.arrived.notify_one();
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_over = true;
        let items = mem::take(&mut state.items);
        drop(state);
        self.0.left.notify_one();
        drop(items);
    }
}

impl<T> Way<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // Nothing panics while the lock is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

fn wait<'a, T>(condition: &Condvar, state: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    let woken = condition.wait(state);
    woken.unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::thread;

    use super::*;

    /// Waits until `is_so`; a test that waits in vain hangs, and is a failure.
    fn until(is_so: impl Fn() -> bool) {
        while !is_so() {
            thread::yield_now();
        }
    }

    #[test]
    fn all_arrives_in_order_whoever_is_faster() {
        for (capacity, resume) in [(0, 0), (1, 0), (1, 1), (3, 1), (8, 4), (8, 100)] {
            let (sender, receiver) = handoff(capacity, resume);
            thread::scope(|scope| {
                scope.spawn(move || (0..5_000).for_each(|i| sender.send(i).unwrap()));
                for i in 0..5_000 {
                    if i % 7 == 0 {
                        thread::yield_now();
                    }
                    assert_eq!(receiver.recv(), Ok(i));
                }
                assert_eq!(receiver.recv(), Err(Gone));
            });
        }
    }

    #[test]
    fn a_sender_without_room_goes_on_once_there_is_room_for_some() {
        let (sender, receiver) = handoff(4, 2);
        let sent = &AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(move || {
                for i in 0..8 {
                    sender.send(i).unwrap();
                    sent.fetch_add(1, SeqCst);
                }
            });
            let sleeps = || receiver.0.lock().sender_sleeps;
            until(sleeps);
            assert_eq!(sent.load(SeqCst), 4);
            for i in 0..2 {
                assert_eq!(receiver.recv(), Ok(i));
                assert!(sleeps());
            }
            // There is room for what is sent now, and for two more.
            assert_eq!(receiver.recv(), Ok(2));
            until(|| sent.load(SeqCst) == 7 && sleeps());
            assert!((3..8).all(|i| receiver.recv() == Ok(i)));
        });
    }

    #[test]
    fn without_room_for_any_a_sender_waits_until_its_item_is_taken() {
        let (sender, receiver) = handoff(0, 0);
        thread::scope(|scope| {
            let sent = scope.spawn(move || sender.send(1));
            until(|| receiver.0.lock().sender_sleeps);
            assert!(!sent.is_finished());
            assert_eq!(receiver.try_recv(), Ok(1));
            assert_eq!(sent.join().unwrap(), Ok(()));
        });
    }

    #[test]
    fn who_waits_for_several_is_woken_when_they_are_there() {
        let (sender, receiver) = handoff(2, 2);
        let sleeps = || sender.0.lock().receiver_sleeps;
        let arrived = || sender.0.lock().items.len();
        thread::scope(|scope| {
            let receive = || [(); 3].map(|()| receiver.recv());
            let received = scope.spawn(receive);
            until(sleeps);
            let mut seen = Vec::new();
            // An item is asked for before the one ahead of it is sent.
            let items = (0..3).inspect(|_| seen.push((arrived(), sleeps())));
            assert_eq!(sender.send_all(items), Ok(()));
            assert_eq!(seen, [(0, true), (0, true), (1, true)]);
            assert_eq!(received.join().unwrap(), [0, 1, 2].map(Ok));

            // Without room it is woken before.
            let received = scope.spawn(move || [receive(), receive()]);
            until(sleeps);
            assert_eq!(sender.send_all(3..9), Ok(()));
            assert_eq!(
                received.join().unwrap(),
                [[3, 4, 5], [6, 7, 8]].map(|all| all.map(Ok))
            );
            assert_eq!(sender.send_all([]), Ok(()));
        });
        drop(receiver);
        assert_eq!(sender.send_all([9]), Err(Gone));
    }

    #[test]
    fn what_is_not_there_is_not_waited_for_longer_than_said() {
        let (sender, receiver) = handoff(1, 1);
        assert_eq!(receiver.try_recv(), Err(Nothing::Yet));
        for timeout in [Duration::ZERO, Duration::from_millis(1)] {
            assert_eq!(receiver.recv_timeout(timeout), Err(Nothing::Yet));
        }
        sender.send(5).unwrap();
        assert_eq!(receiver.recv_timeout(Duration::ZERO), Ok(5));
        sender.send(6).unwrap();
        assert_eq!(receiver.recv_timeout(Duration::MAX), Ok(6));
    }

    #[test]
    fn what_was_sent_is_received_after_the_sender_is_gone() {
        let (sender, receiver) = handoff(2, 1);
        sender.send(1).unwrap();
        drop(sender);
        assert_eq!(receiver.try_recv(), Ok(1));
        assert_eq!(receiver.try_recv(), Err(Nothing::Gone));
        assert_eq!(receiver.recv_timeout(Duration::MAX), Err(Nothing::Gone));
        assert_eq!(receiver.recv(), Err(Gone));
    }

    #[test]
    fn each_end_learns_that_the_other_is_gone() {
        let (sender, receiver) = handoff::<Arc<()>>(0, 0);
        let item = Arc::new(());
        thread::scope(|scope| {
            let (sent, item) = (&sender, item.clone());
            let sent = scope.spawn(move || sent.send(item));
            until(|| receiver.0.lock().sender_sleeps);
            drop(receiver);
            assert_eq!(sent.join().unwrap(), Err(Gone));
        });
        assert_eq!(sender.send(item.clone()), Err(Gone));
        // Nothing is kept that nobody can take.
        assert_eq!(Arc::strong_count(&item), 1);

        let (sender, receiver) = handoff::<()>(1, 1);
        thread::scope(|scope| {
            let received = scope.spawn(|| receiver.recv());
            until(|| receiver.0.lock().receiver_sleeps);
            drop(sender);
            assert_eq!(received.join().unwrap(), Err(Gone));
        });
    }
}
