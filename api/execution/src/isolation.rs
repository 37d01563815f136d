//! Says in the log where work on strangers' bytes executes, and which of the system's walls are missing there.

use crate::compile::Isolation;
use crate::settings::Settings;
use heddle_processes::Layers;

/// What executes in processes of its own.
#[derive(Clone, Copy, Debug)]
pub struct Isolated {
    compilers: bool,
    connectors: bool,
    runs: bool,
}

impl From<&Settings> for Isolated {
    fn from(settings: &Settings) -> Self {
        Isolated {
            compilers: matches!(settings.compilers.isolation, Isolation::Process(_)),
            connectors: settings.connectors.is_some(),
            runs: settings.executors.is_some(),
        }
    }
}

impl Isolated {
    /// Says it. Walls are looked for even if only one of the three has processes.
    pub fn log(self) {
        if !self.compilers {
            tracing::warn!(
                "isolation = thread: compilers, drivers of databases and mail servers, and what reads e-mail, execute in \
                 this process, which a hostile graph, server or message can crash"
            );
        }
        let who = [
            (self.compilers, "compilers"),
            (self.connectors, "connectors"),
            (self.runs, "runs"),
        ];
        let who: Vec<&str> = who
            .into_iter()
            .filter_map(|(isolated, name)| isolated.then_some(name))
            .collect();
        if who.is_empty() {
            return;
        }
        let available = Layers::available();
        let (missing, processes_of) = (available.missing().join(", "), who.join(", "));
        match available {
            Layers {
                files: true,
                system_calls: true,
                network: true,
            } => {}
            // Containers mostly refuse it. The list of system calls says the same.
            Layers {
                files: true,
                system_calls: true,
                network: false,
            } => tracing::info!(
                missing,
                processes_of,
                "Worker processes can't use the network, but this system doesn't let them have an empty one instead"
            ),
            _ => tracing::warn!(
                missing,
                processes_of,
                "Worker processes have limits on time and memory, but this system can't keep them from files or \
                 system calls"
            ),
        }
    }
}
