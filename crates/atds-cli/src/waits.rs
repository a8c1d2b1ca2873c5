//! SIGUSR1 prints what the threads of a command do and wait for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use atds::Batches;
use atds::stats::StatsHandle;

use crate::failure::Failure;

/// Prints what waits for what whenever SIGUSR1 comes, while this value lives. A process that goes on
/// then ignores the signal.
pub(crate) struct Waits {
    iteration: Arc<Iteration>,
    #[cfg(unix)]
    registered: signal_hook::SigId,
}

/// The iteration that is told about, once it has begun.
#[derive(Default)]
struct Iteration(Mutex<Option<StatsHandle>>);

impl Iteration {
    fn lock(&self) -> MutexGuard<'_, Option<StatsHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What waits for what now. It takes no lock that a stuck thread may hold.
    fn describe(&self) -> String {
        let iteration = self.lock().clone();
        match iteration {
            Some(iteration) => iteration.describe_waits(),
            None => "no batches are read yet\n".to_owned(),
        }
    }
}

impl Waits {
    /// Sets which iteration is told about.
    pub(crate) fn tell(&self, batches: &Batches) {
        *self.iteration.lock() = Some(batches.stats_handle());
    }
}

#[cfg(unix)]
impl Waits {
    pub(crate) fn on_signal() -> Result<Self, Failure> {
        Waits::register().map_err(|error| Failure::Data(format!("signals: {error}").into()))
    }

    fn register() -> std::io::Result<Self> {
        use std::io::Read;
        use std::os::unix::net::UnixStream;

        let (mut signals, sender) = UnixStream::pair()?;
        let iteration = Arc::<Iteration>::default();
        let told = iteration.clone();
        // A signal handler may not print, so a thread does. It ends with the sender.
        std::thread::Builder::new()
            .name("atds-signal".to_owned())
            .spawn(move || {
                while signals.read(&mut [0]).is_ok_and(|came| came > 0) {
                    eprint!("atds: what waits for what:\n{}", told.describe());
                }
            })?;
        let registered =
            signal_hook::low_level::pipe::register(signal_hook::consts::SIGUSR1, sender)?;
        Ok(Waits {
            iteration,
            registered,
        })
    }
}

#[cfg(unix)]
impl Drop for Waits {
    fn drop(&mut self) {
        signal_hook::low_level::unregister(self.registered);
    }
}

#[cfg(not(unix))]
impl Waits {
    pub(crate) fn on_signal() -> Result<Self, Failure> {
        Ok(Waits {
            iteration: Arc::default(),
        })
    }
}
