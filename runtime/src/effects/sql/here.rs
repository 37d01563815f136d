//! Sessions whose driver executes in this process. What its server may send is bounded; what the driver makes of it is
//! not: that is why services have processes for it, see `super::connector`.

use super::driver::{self, Driver};
use super::failure::too_much;
use super::statement::{Budget, Statement};
use super::target::Target;
use super::tunnel::Tunnel;
use crate::egress::{EgressPolicy, Meter};
use heddle_sandbox::{EffectCode, EffectError};
use serde_json::Value;

/// Bytes of a server's after which a session serves no other statement: drivers keep some of them.
const SESSION_BYTES_MAX: u64 = 64 << 20;

/// An open session.
pub(super) struct Here {
    driver: Driver,
    meter: Meter,
    policy: EgressPolicy,
    target: Target,
}

impl Here {
    pub async fn open(policy: &EgressPolicy, target: &Target) -> Result<Self, EffectError> {
        let meter = Meter::new(Budget::HANDSHAKE);
        let mut tunnel = Tunnel::open(policy, target, &meter).await?;
        tunnel.release();
        let driver = Driver::open(tunnel.dir(), target).await;
        let driver = driver.map_err(|error| match meter.exceeded() {
            true => too_much(EffectCode::SqlFailed, target, Budget::HANDSHAKE),
            false => error,
        })?;
        Ok(Here {
            driver,
            meter,
            policy: policy.clone(),
            target: target.clone(),
        })
    }

    pub async fn execute(&mut self, statement: &Statement) -> Result<Vec<Value>, EffectError> {
        let rows = self.driver.execute(statement, &self.target, &self.meter).await;
        rows.map_err(|error| match self.meter.exceeded() {
            true => too_much(EffectCode::SqlRowLimit, &self.target, self.meter.granted()),
            false => error,
        })
    }

    /// Whether it may serve another statement.
    pub fn is_fresh(&self) -> bool {
        self.driver.is_fresh() && self.meter.total() < SESSION_BYTES_MAX
    }

    pub async fn cancel(&self) -> Option<()> {
        let meter = Meter::new(Budget::HANDSHAKE);
        let mut tunnel = Tunnel::open(&self.policy, &self.target, &meter).await.ok()?;
        tunnel.release();
        driver::cancel(tunnel.dir(), &self.target, self.driver.session()).await
    }
}
