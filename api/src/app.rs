//! What all requests share.

use crate::auth::token::Tokens;
use crate::clock::Clock;
use crate::config::Config;
use crate::store::Store;
use std::sync::Arc;

/// The service. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Inner>);

/// The parts of an [`App`].
pub struct Inner {
    /// Settings.
    pub config: Config,
    /// The database.
    pub store: Store,
    /// Time.
    pub clock: Clock,
    /// Makes and checks tokens.
    pub tokens: Tokens,
}

impl App {
    /// From its parts.
    pub fn new(config: Config, store: Store, clock: Clock) -> Self {
        let tokens = Tokens::new(&config.jwt_secret, config.token_ttl, clock.clone());
        App(Arc::new(Inner {
            config,
            store,
            clock,
            tokens,
        }))
    }
}

impl std::ops::Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}
