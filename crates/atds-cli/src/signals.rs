//! Signals that ask a command to end, for commands that have files to remove first.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{SigId, flag, low_level};

use crate::failure::Failure;

/// Notes SIGINT (Ctrl-C) and SIGTERM as long as it lives. The second one ends the process at once.
pub(crate) struct Signals {
    came: Arc<AtomicBool>,
    number: Arc<AtomicUsize>,
    registered: Vec<SigId>,
}

impl Signals {
    pub(crate) fn noted() -> Result<Self, Failure> {
        Signals::register().map_err(|error| Failure::Data(format!("signals: {error}").into()))
    }

    fn register() -> io::Result<Self> {
        let mut signals = Signals {
            came: Arc::default(),
            number: Arc::default(),
            registered: Vec::new(),
        };
        let Signals {
            came,
            number,
            registered,
        } = &mut signals;
        for signal in [SIGINT, SIGTERM] {
            registered.push(flag::register_conditional_default(signal, came.clone())?);
            registered.push(flag::register_usize(
                signal,
                number.clone(),
                signal as usize,
            )?);
            registered.push(flag::register(signal, came.clone())?);
        }
        Ok(signals)
    }

    /// True once a signal came.
    pub(crate) fn came(&self) -> &Arc<AtomicBool> {
        &self.came
    }

    /// A failure if a signal came.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self.came.load(Ordering::Relaxed) {
            true => Err(Failure::Signal(self.number.load(Ordering::Relaxed) as u8)),
            false => Ok(()),
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for &id in &self.registered {
            low_level::unregister(id);
        }
    }
}
