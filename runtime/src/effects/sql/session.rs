//! Sessions of databases, of which each connection has a few: in this process, or each in a process of its own, which a
//! hostile server can take down without harm to anybody else.

use super::connector::{Connector, Places};
use super::here::Here;
use super::pool::{self, Pools};
use super::rows::keeps_session;
use super::statement::Statement;
use super::target::Target;
use crate::config::{ConnectorProgram, RuntimeConfig};
use crate::effect_error::EffectError;
use crate::egress::EgressPolicy;
use serde_json::Value;
use std::sync::Arc;

/// All sessions.
pub(super) struct Sessions {
    policy: EgressPolicy,
    /// What is started for each, if they are not to be in this process.
    program: Option<ConnectorProgram>,
    places: Arc<Places>,
    pools: Arc<Pools<Session>>,
}

/// An open session.
enum Session {
    Here(Box<Here>),
    Connector(Box<Connector>),
}

impl pool::Session for Session {
    async fn cancel(&mut self) -> Option<()> {
        match self {
            Session::Here(session) => session.cancel().await,
            Session::Connector(session) => session.cancel().await,
        }
    }
}

impl Sessions {
    pub fn new(config: &RuntimeConfig) -> Self {
        Sessions {
            policy: config.egress.clone(),
            program: config.connectors.clone(),
            places: Arc::new(Places::new(config.connectors_max)),
            pools: Arc::default(),
        }
    }

    /// Executes one statement in a session of this connection.
    pub async fn execute(
        &self,
        target: &Target,
        tenant: Option<&str>,
        statement: &Statement,
    ) -> Result<Vec<Value>, EffectError> {
        let open = || self.open(target, tenant, statement);
        let mut session = Pools::take(&self.pools, &target.key, open).await?;
        let (rows, is_fresh) = match session.get()? {
            Session::Here(session) => (session.execute(statement).await, session.is_fresh()),
            Session::Connector(session) => (session.execute(statement).await, session.is_fresh()),
        };
        // Whoever waits for a process's place gets this one's rather than nobody in particular.
        let is_wanted = self.places.is_waited_for();
        session.done(rows.is_ok() && is_fresh && !is_wanted && keeps_session(&statement.query));
        rows
    }

    async fn open(
        &self,
        target: &Target,
        tenant: Option<&str>,
        statement: &Statement,
    ) -> Result<Session, EffectError> {
        let Some(program) = &self.program else {
            return Here::open(&self.policy, target)
                .await
                .map(|opened| Session::Here(Box::new(opened)));
        };
        let tenant = tenant.unwrap_or_default();
        let close_idle = |of: Option<&str>| {
            self.pools.close_idle(|session| match session {
                Session::Here(_) => false,
                Session::Connector(session) => of.is_none_or(|tenant| session.tenant() == tenant),
            })
        };
        let place = Places::take(&self.places, tenant, close_idle).await?;
        let opened = Connector::open(program, &self.policy, target, place, statement).await;
        opened.map(|opened| Session::Connector(Box::new(opened)))
    }
}
