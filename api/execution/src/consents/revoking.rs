//! Tokens of connections that go with their workspace or account: providers are asked to take them no more.

use super::{Consents, Subject, asked_by};
use heddle_model::error::chain;
use heddle_model::ids::{ConnectionId, UserId};
use heddle_model::tenant::Tenant;
use heddle_store::Db;
use heddle_store::connection_tokens::{self as kept, Kept};
use heddle_store::connections;
use heddle_store::panics::unless_it_panics;
use heddle_store::vault::VaultError;

/// Tokens of whole tenants, read before their rows are gone.
pub struct Revocations {
    consents: Consents,
    tokens: Vec<Revocation>,
}

struct Revocation {
    tenant: Tenant,
    /// Who made the connection.
    user: UserId,
    subject: Subject,
    kept: Kept,
}

impl Consents {
    /// What has to be revoked once these tenants are gone; to be asked before that. What can't be read is left out, and keeps nobody from
    /// removing it.
    pub async fn revocations(&self, tenants: &[Tenant]) -> Revocations {
        let mut tokens = Vec::new();
        for tenant in tenants {
            if let Err(error) = self.add_tokens(*tenant, &mut tokens).await {
                tracing::warn!(%tenant, "Tokens can't be read to be revoked: {}", chain(&error));
            }
        }
        Revocations {
            consents: self.clone(),
            tokens,
        }
    }

    async fn add_tokens(&self, tenant: Tenant, tokens: &mut Vec<Revocation>) -> Result<(), VaultError> {
        let mut reader = self.0.store.reader().await?;
        let db = &mut reader.db();
        for (connection, user) in connections::with_tokens(db, tenant).await? {
            match self.tokens_of(db, tenant, connection).await {
                Ok(Some((subject, kept))) => tokens.push(Revocation {
                    tenant,
                    user,
                    subject,
                    kept,
                }),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%connection, "Its tokens can't be read to be revoked: {}", chain(&error));
                }
            }
        }
        Ok(())
    }

    async fn tokens_of(
        &self,
        db: &mut Db<'_>,
        tenant: Tenant,
        connection: ConnectionId,
    ) -> Result<Option<(Subject, Kept)>, VaultError> {
        let vault = &self.0.vault;
        let Some(opened) = connections::open(db, vault, tenant, &connection.to_string()).await? else {
            return Ok(None);
        };
        let kept = kept::find(db, vault, opened.workspace, connection).await?;
        Ok(kept.map(|kept| (Subject::of(&opened), kept)))
    }
}

impl Revocations {
    /// Asks the providers about the tokens of those tenants that are gone, in the background and one after the other: nobody waits for a
    /// provider that may not answer.
    pub fn begin(self, gone: &[Tenant]) {
        let Revocations { consents, mut tokens } = self;
        tokens.retain(|of| gone.contains(&of.tenant));
        if tokens.is_empty() {
            return;
        }
        tokio::spawn(async move {
            for of in tokens {
                let revoking = consents.revoke(&of.subject, &of.kept.tokens);
                // A panic was told, and keeps none of the others.
                unless_it_panics(asked_by(of.user, revoking)).await;
            }
        });
    }
}
