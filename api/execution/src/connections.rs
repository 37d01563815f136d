//! The connections that a tenant's runs may open: those of its workspace, or of its user outside of workspaces.
//! Each is read and decrypted when an effect needs it, so that a deleted one is gone with the next effect.

use crate::consents::{CONSENTED, Consents, unavailable};
use heddle_model::ids::UserId;
use heddle_model::tenant::Tenant;
use heddle_runtime::{Connection, ConnectionError, ConnectionFuture, Connections};
use heddle_store::vault::Vault;
use heddle_store::{Store, connections};
use std::fmt;
use std::sync::Arc;

/// Opens connections for runs of one tenant.
pub(crate) struct TenantConnections {
    pub store: Store,
    pub vault: Arc<Vault>,
    pub tenant: Tenant,
    /// Who owns the tenant.
    pub owner: UserId,
    pub consents: Consents,
}

impl fmt::Debug for TenantConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TenantConnections").field(&self.tenant).finish()
    }
}

impl Connections for TenantConnections {
    fn open(&self, reference: String) -> ConnectionFuture {
        let (store, vault, tenant) = (self.store.clone(), self.vault.clone(), self.tenant);
        let consents = self.consents.clone();
        Box::pin(async move {
            let mut reader = store.reader().await.map_err(unavailable)?;
            let opened = connections::open(&mut reader.db(), &vault, tenant, &reference).await;
            let opened = opened.map_err(unavailable)?;
            let opened = opened.ok_or(ConnectionError::Missing)?;
            drop(reader);
            if opened.row.kind == CONSENTED {
                return consents.connection(opened).await;
            }
            Ok(Connection {
                id: opened.row.id.to_string(),
                name: opened.row.display_name,
                provider: opened.row.provider,
                hosts: opened.row.hosts.0,
                fields: opened.fields,
                former: Vec::new(),
            })
        })
    }

    fn tenant(&self) -> Option<String> {
        Some(self.tenant.to_string())
    }

    fn owner(&self) -> Option<u128> {
        Some(self.owner.as_u128())
    }
}
