//! Signals that ask a command to end, for commands that have files to remove first.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{SigId, flag, low_level};

use crate::failure::Failure;

/// Notes SIGINT (Ctrl-C), SIGTERM and SIGHUP (a terminal that is closed) as long as it lives. The
/// second one ends the process at once. A SIGHUP that the process was started to ignore, as by
/// `nohup`, stays ignored.
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
        let hangup = (!ignores_hangup()).then_some(SIGHUP);
        for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
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

/// Whether the process ignores SIGHUP, where the system tells.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.unwrap_or(0) >> (SIGHUP - 1) & 1 == 1
}

impl Drop for Signals {
    fn drop(&mut self) {
        for &id in &self.registered {
            low_level::unregister(id);
        }
    }
}
