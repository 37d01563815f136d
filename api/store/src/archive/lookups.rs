//! Looks for what rows of an archive name, before they are added: accounts, modules, rows of the same workspace, addresses
//! that somebody has.

use super::ArchiveError;
use super::adding::{Adding, Row};
use super::names::environment_of;
use super::part::{Column, Kind, Of, Part};
use super::parts::{DEFINITIONS, DRAFTS, VERSIONS};
use crate::accounts::email_key;
use crate::db::{Db, sql};
use crate::error::StoreError;
use heddle_model::ids::UserId;
use std::collections::{BTreeMap, BTreeSet};

/// Texts that one statement looks for.
const LIST_MAX: usize = 500;
/// Parts whose texts name patterns and connections by their ids.
const GRAPHS: [&str; 4] = [VERSIONS, DEFINITIONS, DRAFTS, "pattern_tests"];

/// What there is already of what rows name.
#[derive(Default)]
pub(super) struct Known {
    pub users: BTreeMap<String, Option<String>>,
    /// Modules of the archive, and whether they are stale.
    pub modules: BTreeMap<String, bool>,
    pub rows: BTreeMap<Of, BTreeSet<String>>,
    pub addresses: BTreeSet<String>,
    /// Ids of patterns and connections, for texts that name them.
    pub named: BTreeSet<String>,
}

impl Adding<'_> {
    /// Looks for what the rows name.
    pub(super) async fn known(
        &self,
        db: &mut Db<'_>,
        part: &Part,
        rows: &[Row],
    ) -> Result<Known, ArchiveError> {
        let mut known = Known::default();
        let texts = |name: &'static str| rows.iter().filter_map(move |row| row.get(name)?.as_str());
        for Column { name, kind } in part.columns {
            match kind {
                Kind::Owner | Kind::Author | Kind::Account | Kind::PastOrUser => {
                    for (name, user, _) in self.noted(db, "user", texts(name)).await? {
                        known.users.insert(name, user);
                    }
                }
                Kind::Module => {
                    for (name, _, is_stale) in self.noted(db, "module", texts(name)).await? {
                        known.modules.insert(name, is_stale);
                    }
                }
                Kind::Within(of) | Kind::Was(of) => {
                    let ids = texts(name).filter_map(|id| self.names.id(id).ok()).collect();
                    let there = self.there(db, *of, ids).await?;
                    known.rows.entry(*of).or_default().extend(there);
                }
                Kind::Slot => {
                    let ids = texts(name).filter_map(|id| self.names.id(id).ok()).collect();
                    let there = self.there(db, Of::Environment, ids).await?;
                    known.rows.entry(Of::Environment).or_default().extend(there);
                }
                Kind::ScopeOfPattern => {
                    let environments = texts(name).filter_map(environment_of);
                    let ids = environments.filter_map(|id| self.names.id(id).ok()).collect();
                    let there = self.there(db, Of::Environment, ids).await?;
                    known.rows.entry(Of::Environment).or_default().extend(there);
                }
                Kind::Address(of) => known.addresses.extend(taken(db, *of, texts(name)).await?),
                _ => {}
            }
        }
        if !self.names.keeps_ids && GRAPHS.contains(&part.name) {
            known.named = self.named(db).await?;
        }
        Ok(known)
    }

    /// What was remembered under these names: with the user, and whether a module is stale.
    async fn noted(
        &self,
        db: &mut Db<'_>,
        kind: &'static str,
        names: impl Iterator<Item = &str>,
    ) -> Result<Vec<(String, Option<String>, bool)>, StoreError> {
        let names: BTreeSet<&str> = names.collect();
        let names: Vec<&str> = names.into_iter().collect();
        let mut noted = Vec::new();
        for some in names.chunks(LIST_MAX) {
            let query = sql(
                "select name, user_id, is_stale from imported_names where workspace_id = ? and kind = ?
                 and name in ",
            )
            .bind(self.names.workspace)
            .bind(kind)
            .list_of_few_sizes(some.iter().copied());
            noted.extend(db.all::<(String, Option<String>, bool)>(query).await?);
        }
        Ok(noted)
    }

    /// Which of these ids are those of rows of the workspace.
    pub(super) async fn there(
        &self,
        db: &mut Db<'_>,
        of: Of,
        ids: BTreeSet<String>,
    ) -> Result<BTreeSet<String>, StoreError> {
        let query = match of {
            Of::Environment => "select t.id from environments t where t.workspace_id = ? and t.id in ",
            Of::Connection => "select t.id from connections t where t.workspace_id = ? and t.id in ",
            Of::Pattern => "select t.id from patterns t where t.workspace_id = ? and t.id in ",
            Of::Webhook => {
                "select t.id from webhook_endpoints t join patterns p on p.id = t.pattern_id
                 where p.workspace_id = ? and t.id in "
            }
            Of::Mailbox => {
                "select t.id from email_endpoints t join patterns p on p.id = t.pattern_id
                 where p.workspace_id = ? and t.id in "
            }
            Of::Deployment => "select t.id from deployments t where t.workspace_id = ? and t.id in ",
            Of::Schedule => {
                "select t.id from schedules t join deployments d on d.id = t.deployment_id
                 where d.workspace_id = ? and t.id in "
            }
            Of::Run => {
                "select t.id from runs t join deployments d on d.id = t.deployment_id
                 where d.workspace_id = ? and t.id in "
            }
        };
        let ids: Vec<String> = ids.into_iter().collect();
        let mut there = BTreeSet::new();
        for some in ids.chunks(LIST_MAX) {
            let query = sql(query).bind(self.names.workspace);
            let found: Vec<(String,)> = db.all(query.list_of_few_sizes(some)).await?;
            there.extend(found.into_iter().map(|(id,)| id));
        }
        Ok(there)
    }

    /// Ids of the workspace's patterns and connections.
    pub(super) async fn named(&self, db: &mut Db<'_>) -> Result<BTreeSet<String>, StoreError> {
        if self.names.keeps_ids {
            return Ok(BTreeSet::new());
        }
        let query = sql(
            "select id from patterns where workspace_id = ? union all select id from connections where workspace_id = ?",
        );
        let query = query.bind(self.names.workspace).bind(self.names.workspace);
        let found: Vec<(String,)> = db.all(query).await?;
        Ok(found.into_iter().map(|(id,)| id).collect())
    }
}

/// The account with an address.
pub(super) async fn account(
    db: &mut Db<'_>,
    email: &str,
    wants_verified: bool,
) -> Result<Option<UserId>, StoreError> {
    let query = sql("select id, email_verified from users where email_key = ?").bind(email_key(email));
    let found: Option<(UserId, bool)> = db.optional(query).await?;
    Ok(found
        .filter(|(_, is_verified)| *is_verified || !wants_verified)
        .map(|(user, _)| user))
}

/// Which of these addresses are taken.
async fn taken(
    db: &mut Db<'_>,
    of: Of,
    addresses: impl Iterator<Item = &str>,
) -> Result<Vec<String>, StoreError> {
    let query = match of {
        Of::Mailbox => "select mailbox from email_endpoints where mailbox in ",
        _ => "select webhook_id from webhook_endpoints where webhook_id in ",
    };
    let addresses: Vec<&str> = addresses.collect();
    let mut taken = Vec::new();
    for some in addresses.chunks(LIST_MAX) {
        let query = sql(query).list_of_few_sizes(some.iter().copied());
        let found: Vec<(String,)> = db.all(query).await?;
        taken.extend(found.into_iter().map(|(address,)| address));
    }
    Ok(taken)
}
