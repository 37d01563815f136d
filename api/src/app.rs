//! What all requests share.

use crate::auth::external::ExternalProvider;
use crate::auth::limits::AuthLimits;
use crate::auth::password::Passwords;
use crate::auth::token::{Lifetimes, Tokens};
use crate::budget::Budget;
use crate::clock::Clock;
use crate::config::Config;
use crate::execution::Executions;
use crate::onlookers::Onlookers;
use crate::peers::Peers;
use crate::store::Store;
use crate::vault::Vault;
use crate::webhooks::Webhooks;
use std::sync::Arc;

/// The service. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Inner>);

/// The parts of an [`App`].
pub struct Inner {
    /// Settings.
    pub config: Config,
    /// Memory for large requests.
    pub budget: Budget,
    /// The database.
    pub store: Store,
    /// Time.
    pub clock: Clock,
    /// Makes and checks tokens.
    pub tokens: Tokens,
    /// Checks passwords.
    pub passwords: Passwords,
    /// Counts attempts to log in.
    pub auth_limits: AuthLimits,
    /// The login by another service, if there is one.
    pub external_login: Option<ExternalProvider>,
    /// Encrypts secrets.
    pub vault: Arc<Vault>,
    /// Runs what is deployed.
    pub executions: Executions,
    /// Takes events in.
    pub webhooks: Webhooks,
    /// The other servers on the same database.
    pub peers: Peers,
    /// Who looks on at runs.
    pub onlookers: Onlookers,
}

impl App {
    /// From its parts.
    pub fn new(config: Config, store: Store, clock: Clock) -> Self {
        let lifetimes = Lifetimes {
            token: config.token_ttl,
            session: config.session_ttl,
        };
        let tokens = Tokens::new(&config.jwt_secret, lifetimes, clock.clone());
        let vault = Arc::new(Vault::new(&config.master_key, clock.clone()));
        let budget = Budget::new(config.large_request_bytes_max);
        let executions = Executions::new(
            &config,
            store.clone(),
            clock.clone(),
            vault.clone(),
            budget.clone(),
        );
        let webhooks = Webhooks::new(&config, store.clone(), clock.clone(), vault.clone());
        let auth_limits = AuthLimits::new(&config, store.is_shared());
        let onlookers = Onlookers::new(&config.http);
        let external_login = config.external_login.clone();
        let external_login = external_login.map(|provider| ExternalProvider::new(provider, &config.egress));
        App(Arc::new(Inner {
            budget,
            config,
            store,
            clock,
            tokens,
            passwords: Passwords::default(),
            auth_limits,
            external_login,
            vault,
            executions,
            webhooks,
            peers: Peers::default(),
            onlookers,
        }))
    }
}

impl std::ops::Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}
