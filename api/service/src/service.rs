//! State that all requests share.

use crate::audit;
use crate::auth::cookie::Cookies;
use crate::auth::external::{ExternalLogin, ExternalProviders};
use crate::auth::limits::{self, AuthLimits};
use crate::auth::password::Passwords;
use crate::auth::registration::Registration;
use crate::auth::token::{Lifetimes, Tokens};
use crate::onlookers::{self, Onlookers};
use crate::outbox::Outbox;
use crate::webhooks::{self, Webhooks};
use heddle_execution::Executions;
use heddle_execution::budget::Budget;
use heddle_model::clock::Clock;
use heddle_model::quota::Quotas;
use heddle_runtime::Mailer;
use heddle_store::Store;
use heddle_store::vault::{MasterKey, Vault};
use secrecy::{ExposeSecret, SecretString};
use std::ops::Deref;
use std::sync::Arc;

/// What operators can set of the service.
pub struct Settings {
    pub execution: heddle_execution::Settings,
    /// Encrypts the secrets in the database.
    pub master_key: MasterKey,
    /// Signs tokens.
    pub jwt_secret: SecretString,
    /// How long tokens and logins last.
    pub lifetimes: Lifetimes,
    /// How often somebody may try.
    pub auth_limits: limits::Settings,
    /// The logins by other services.
    pub external_logins: Vec<ExternalLogin>,
    /// Who may make an account.
    pub registration: Registration,
    /// How the service's own mail is sent; `None`: it sends none.
    pub mailer: Option<Mailer>,
    /// How much a user may store.
    pub quotas: Quotas,
    /// Memory for all large requests together, in bytes.
    pub large_request_bytes_max: usize,
    /// Settings of webhook ingestion.
    pub webhooks: webhooks::Settings,
    /// Which entries of the audit log are kept.
    pub audit: audit::Policy,
    /// Limits of live tails.
    pub onlookers: onlookers::Limits,
    /// The part of patterns' mail addresses after the @.
    pub mail_domain: String,
}

/// The service. Cheap to clone.
#[derive(Clone)]
pub struct Service(Arc<Parts>);

/// The parts of a [`Service`].
pub struct Parts {
    /// Memory for large requests.
    pub budget: Budget,
    /// The database.
    pub store: Store,
    /// Time.
    pub clock: Clock,
    /// Makes and checks tokens.
    pub tokens: Tokens,
    /// Reads and writes the cookie of browsers' sessions.
    pub cookies: Cookies,
    /// Checks passwords.
    pub passwords: Passwords,
    /// Counts attempts to log in.
    pub auth_limits: AuthLimits,
    /// The logins by other services.
    pub external_logins: ExternalProviders,
    /// Who may make an account.
    pub registration: Registration,
    /// Where the service's own mail is left to be sent; `None`: it sends none.
    pub outbox: Option<Outbox>,
    /// URL at which clients reach the service, without a slash at the end.
    pub base_url: String,
    /// Encrypts secrets.
    pub vault: Arc<Vault>,
    /// Runs what is deployed.
    pub executions: Executions,
    /// Takes events in.
    pub webhooks: Webhooks,
    /// Which entries of the audit log are kept.
    pub audit: audit::Policy,
    /// Who looks on at runs.
    pub onlookers: Onlookers,
    /// How much a user may store.
    pub quotas: Quotas,
    /// The part of patterns' mail addresses after the @.
    pub mail_domain: String,
}

impl Service {
    /// From its parts. Starts the writing of the webhook log and the sending of mail, and nothing else.
    pub fn new(settings: Settings, store: Store, clock: Clock) -> Self {
        let vault = Arc::new(Vault::new(settings.master_key.expose(), clock.clone()));
        let budget = Budget::new(settings.large_request_bytes_max);
        let egress = settings.execution.egress.clone();
        let cookies = Cookies::new(&settings.execution.base_url);
        let base_url = settings.execution.base_url.clone();
        Service(Arc::new(Parts {
            registration: settings.registration,
            outbox: settings.mailer.map(Outbox::start),
            base_url,
            executions: Executions::new(
                settings.execution,
                store.clone(),
                clock.clone(),
                vault.clone(),
                budget.clone(),
            ),
            tokens: Tokens::new(
                settings.jwt_secret.expose_secret(),
                settings.lifetimes,
                clock.clone(),
            ),
            cookies,
            passwords: Passwords::default(),
            auth_limits: AuthLimits::new(settings.auth_limits, store.is_shared()),
            external_logins: ExternalProviders::new(settings.external_logins, &egress),
            webhooks: Webhooks::new(
                settings.webhooks,
                store.clone(),
                clock.clone(),
                vault.clone(),
                &egress,
            ),
            audit: settings.audit,
            onlookers: Onlookers::new(settings.onlookers),
            quotas: settings.quotas,
            mail_domain: settings.mail_domain,
            budget,
            store,
            clock,
            vault,
        }))
    }

    /// Whether people can prove here that an address is theirs.
    pub fn verifies_addresses(&self) -> bool {
        !self.external_logins.is_empty() || self.outbox.is_some()
    }
}

impl Deref for Service {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}
