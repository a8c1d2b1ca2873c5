//! Signals that end a command, for commands that must remove files first.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{SigId, flag, low_level};

use crate::failure::Failure;

/// Records SIGINT (Ctrl-C), SIGTERM and SIGHUP (a closed terminal) while this value lives. A second
/// signal ends the process at once. A SIGHUP that is already ignored, as with `nohup`, stays
/// ignored.
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
        let dispositions = Dispositions::of_process();
        let hangup = (!dispositions.ignores(SIGHUP)).then_some(SIGHUP);
        Defaults::suspend();
        for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
            if dispositions.has_default(signal) {
                Defaults::keep(signal)?;
            }
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
        if self.came.load(Ordering::Relaxed) {
            Err(Failure::Signal(self.number.load(Ordering::Relaxed) as u8))
        } else {
            Ok(())
        }
    }
}

/// The current effects of signals, if the system reports them.
struct Dispositions {
    ignored: u64,
    caught: u64,
}

impl Dispositions {
    fn of_process() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = |name| {
            let mask = status.lines().find_map(|line| line.strip_prefix(name));
            mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        };
        Dispositions {
            ignored: mask("SigIgn:").unwrap_or(0),
            // If unknown, all signals count as handled, and the handlers stay.
            caught: mask("SigCgt:").unwrap_or(u64::MAX),
        }
    }

    fn ignores(&self, signal: i32) -> bool {
        self.ignored >> (signal - 1) & 1 == 1
    }

    fn has_default(&self, signal: i32) -> bool {
        (self.ignored | self.caught) >> (signal - 1) & 1 == 0
    }
}

/// Signals that end the process while no [`Signals`] lives. `signal-hook` leaves its handler in
/// place when the last action is removed. That handler alone would ignore the signal.
struct Defaults {
    /// Number of living [`Signals`].
    noted: usize,
    /// True while no [`Signals`] lives; created with the first registered signal.
    apply: Option<Arc<AtomicBool>>,
}

static DEFAULTS: Mutex<Defaults> = Mutex::new(Defaults {
    noted: 0,
    apply: None,
});

impl Defaults {
    /// Registers a signal that has its default effect now, and no handler.
    fn keep(signal: i32) -> io::Result<()> {
        let mut defaults = DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner);
        let apply = defaults.apply.get_or_insert_default();
        flag::register_conditional_default(signal, apply.clone())?;
        Ok(())
    }

    fn suspend() {
        Self::count(|noted| noted + 1);
    }

    fn resume() {
        Self::count(|noted| noted - 1);
    }

    fn count(change: impl FnOnce(usize) -> usize) {
        let mut defaults = DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner);
        defaults.noted = change(defaults.noted);
        if let Some(apply) = &defaults.apply {
            apply.store(defaults.noted == 0, Ordering::Relaxed);
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for &id in &self.registered {
            low_level::unregister(id);
        }
        Defaults::resume();
    }
}
