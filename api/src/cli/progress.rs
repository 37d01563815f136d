//! A spinner for work that takes long enough to wonder about, on a terminal only.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// What takes less than this is not worth a flicker.
const PATIENCE: Duration = Duration::from_millis(300);

/// Shown until it is dropped.
pub struct Progress {
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// After a moment, says on standard error what is being done.
    pub fn start(doing: &'static str) -> Self {
        if !std::io::stderr().is_terminal() {
            return Progress { shown: None };
        }
        let (stop, stopped) = channel::<()>();
        let spinner = std::thread::spawn(move || {
            if stopped.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}");
            let bar = ProgressBar::new_spinner().with_message(doing);
            if let Ok(style) = style {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(100));
            // Ends when the sender is dropped.
            let _ = stopped.recv();
            bar.finish_and_clear();
        });
        Progress {
            shown: Some((stop, spinner)),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, spinner)) = self.shown.take() {
            drop(stop);
            // The line must be clear before anything else is printed.
            let _ = spinner.join();
        }
    }
}
