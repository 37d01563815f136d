//! State that all requests share: the settings and the service.

use crate::config::Config;
use crate::telemetry;
use heddle_model::clock::Clock;
use heddle_service::Service;
use heddle_store::Store;
use std::ops::Deref;
use std::sync::Arc;

/// The service and its settings. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Parts>);

/// The parts of an [`App`].
pub struct Parts {
    /// Settings of the binary.
    pub config: Config,
    /// The service behind the HTTP interface.
    pub service: Service,
}

impl App {
    /// Builds the service from the settings and a store.
    pub fn new(config: Config, store: Store, clock: Clock) -> Self {
        // What is counted before metrics are collected counts nothing.
        telemetry::metrics::handle();
        let service = Service::new(config.service(), store, clock);
        App(Arc::new(Parts { config, service }))
    }
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl Deref for Parts {
    type Target = Service;

    fn deref(&self) -> &Service {
        &self.service
    }
}
