//! Sessions of databases, of which each connection has a few: in this process, or each in a process of its own, which a
//! hostile server can take down without harm to anybody else.

use super::connector::Connector;
use super::here::Here;
use super::pool::{self, Pools};
use super::rows::keeps_session;
use super::sqlite;
use super::statement::Statement;
use super::target::Target;
use crate::effects::connectors::{Connectors, Owner, OwnerFilter};
use crate::egress::EgressPolicy;
use heddle_sandbox::{EffectCode, EffectError};
use serde_json::Value;
use std::sync::Arc;

/// All sessions.
pub(super) struct Sessions {
    policy: EgressPolicy,
    /// What is started for each, if they are not to be in this process.
    connectors: Option<Arc<Connectors>>,
    pools: Arc<Pools<Session>>,
}

/// An open session.
enum Session {
    Here(Box<Here>),
    Connector(Box<Connector>),
    Files(Box<sqlite::Connector>),
}

impl Session {
    /// Whether it is a process of this owner, or of anybody.
    fn is_process_of(&self, whose: OwnerFilter) -> bool {
        let own = match self {
            Session::Here(_) => return false,
            Session::Connector(session) => session.owner(),
            Session::Files(files) => files.owner(),
        };
        match whose {
            OwnerFilter::This(owner) => own == owner,
            OwnerFilter::Anybody => true,
        }
    }
}

impl pool::Session for Session {
    async fn cancel(&mut self) -> Option<()> {
        match self {
            Session::Here(session) => session.cancel().await,
            Session::Connector(session) => session.cancel().await,
            // It ends as it is dropped, and the file stays as it was before the statement.
            Session::Files(_) => None,
        }
    }
}

impl Sessions {
    pub fn new(policy: &EgressPolicy, connectors: Option<Arc<Connectors>>) -> Self {
        let pools = Arc::<Pools<Session>>::default();
        if let Some(connectors) = &connectors {
            let pools = pools.clone();
            let close_idle =
                move |whose: OwnerFilter| pools.close_idle(|session| session.is_process_of(whose));
            connectors.ask_for_idle(Box::new(close_idle));
        }
        Sessions {
            policy: policy.clone(),
            connectors,
            pools,
        }
    }

    /// Executes one statement on a file: in this process, or in one that has nothing but the tenant's files.
    pub async fn execute_on_file(
        &self,
        target: &Target,
        (tenant, owner): (Option<&str>, Owner),
        file: sqlite::File,
        statement: &Statement,
    ) -> Result<Vec<Value>, EffectError> {
        let Some((connectors, allowed)) = self.connectors.as_ref().zip(file.allowed()) else {
            let (file, _reserved) = file.reserved()?;
            return sqlite::execute(&file, target, statement).await;
        };
        let open = || async {
            let place = connectors.place(owner).await;
            let started =
                sqlite::Connector::start(connectors, place, &allowed.dir, allowed.all_bytes_max, target);
            Ok(Session::Files(Box::new(started.await?)))
        };
        // What a process may use is its tenant's, whoever has a connection of these fields.
        let key = format!("{}/{}", tenant.unwrap_or_default(), target.key);
        let mut session = Pools::take(&self.pools, &key, open).await?;
        let Session::Files(files) = session.get()? else {
            return Err(EffectError::new(
                EffectCode::Internal,
                "The session belongs to another kind of connection.",
            ));
        };
        // While it waited for a process it needed no room.
        let (inside, _reserved) = allowed.inside()?;
        let rows = files.execute(target, &inside, statement).await;
        let is_fresh = files.is_fresh();
        session.done(is_fresh && !self.is_waited_for());
        rows
    }

    /// Whoever waits for a process's place gets that of one that is done, rather than nobody in particular.
    fn is_waited_for(&self) -> bool {
        self.connectors
            .as_ref()
            .is_some_and(|connectors| connectors.is_waited_for())
    }

    /// Executes one statement in a session of this connection.
    pub async fn execute(
        &self,
        target: &Target,
        owner: Owner,
        statement: &Statement,
    ) -> Result<Vec<Value>, EffectError> {
        let open = || self.open(target, owner, statement);
        let mut session = Pools::take(&self.pools, &target.key, open).await?;
        let (rows, is_fresh) = match session.get()? {
            Session::Here(session) => (session.execute(statement).await, session.is_fresh()),
            Session::Connector(session) => (session.execute(statement).await, session.is_fresh()),
            Session::Files(_) => {
                return Err(EffectError::new(
                    EffectCode::Internal,
                    "The session belongs to another kind of connection.",
                ));
            }
        };
        let is_wanted = self.is_waited_for();
        session.done(rows.is_ok() && is_fresh && !is_wanted && keeps_session(&statement.query));
        rows
    }

    async fn open(
        &self,
        target: &Target,
        owner: Owner,
        statement: &Statement,
    ) -> Result<Session, EffectError> {
        let Some(connectors) = &self.connectors else {
            return Here::open(&self.policy, target)
                .await
                .map(|opened| Session::Here(Box::new(opened)));
        };
        let place = connectors.place(owner).await;
        let opened = Connector::open(connectors, &self.policy, target, place, statement).await;
        opened.map(|opened| Session::Connector(Box::new(opened)))
    }
}
