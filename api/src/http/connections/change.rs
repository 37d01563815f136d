//! `PATCH /api/connections/:id`: label, hosts and single fields; what is not sent stays.

use super::bodies::{Connection, FIELDS_MAX, SentFields, derived_seeds};
use super::consent::NEEDS_HOSTS;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::extract::{Caller, Json, Path, text};
use crate::http::secret_fields::checked_hosts;
use axum::extract::State;
use futures_util::future::BoxFuture;
use heddle_execution::{CONSENTED, IDENTITY};
use heddle_model::Code;
use heddle_model::access::Editor;
use heddle_model::audit::{Action, Object};
use heddle_model::error::chain;
use heddle_model::ids::ConnectionId;
use heddle_model::quota::Quota;
use heddle_store::audit;
use heddle_store::connection_tokens;
use heddle_store::connections::{self, ConnectionRow, Hosts};
use heddle_store::quota::{self, Payer};
use heddle_store::secrets::{self, NewSecret};
use heddle_store::workspaces::{self, EnvironmentRow};
use heddle_store::{Db, StoreError};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(change_connection))
}

/// What to change of a connection.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ConnectionChanges {
    #[schema(example = "OpenAI of the accounting team", min_length = 1, max_length = 200)]
    display_name: Option<String>,
    /// Fields to set, each a string, a number or a boolean, and to remove, with null. Fields that are not named stay.
    #[schema(value_type = Option<HashMap<String, Value>>, example = json!({"apiKey": "sk-…"}))]
    credentials: Option<SentFields>,
    /// Hosts that nodes may send it to; an empty list: any.
    #[schema(example = json!(["api.openai.com"]), max_items = 50)]
    hosts: Option<Vec<String>>,
}

/// Checked changes.
struct Changes {
    display_name: Option<String>,
    fields: BTreeMap<String, Option<String>>,
    hosts: Option<Vec<String>>,
}

impl ConnectionChanges {
    fn checked(self) -> Result<Changes, ApiError> {
        Ok(Changes {
            display_name: match &self.display_name {
                Some(name) => Some(text("displayName", name, 200)?),
                None => None,
            },
            fields: self.credentials.unwrap_or_default().changes()?,
            hosts: match self.hosts {
                Some(hosts) => Some(checked_hosts(Some(hosts))?),
                None => None,
            },
        })
    }
}

/// Sets and removes fields.
pub(super) fn apply(
    stored: &mut Map<String, Value>,
    changes: BTreeMap<String, Option<String>>,
) -> Result<(), ApiError> {
    for (field, value) in changes {
        match value {
            Some(value) => stored.insert(field, value.into()),
            None => stored.remove(&field),
        };
    }
    match stored.len() {
        0 => Err(ApiError::field("credentials", "must leave at least one field")),
        1..=FIELDS_MAX => Ok(()),
        _ => Err(ApiError::field("credentials", "must leave at most 50 fields")),
    }
}

/// The fields that say whose tokens a connection by consent has.
fn identity(opened: &connections::Opened) -> Vec<Option<Value>> {
    IDENTITY
        .iter()
        .map(|field| opened.fields.get(*field).cloned())
        .collect()
}

/// What revokes the tokens that it has. Those that can't be read are left out, and keep nobody from replacing them.
async fn revocation(app: &App, editor: &Editor, id: ConnectionId) -> Option<BoxFuture<'static, ()>> {
    let revocation = app.executions.consents().revocation(editor, id).await;
    revocation.unwrap_or_else(|error| {
        tracing::warn!(connection = %id, "Its tokens can't be read to be revoked: {}", chain(&error));
        None
    })
}

/// Changes one of the caller's connections: label, hosts and single fields. Secrets that it seeded, and that nobody has set
/// since, follow. Runs use the changed connection from their next request on.
#[utoipa::path(
    patch, path = "/api/connections/{id}", tag = "Connections", security(("bearer" = [])),
    params(("id" = ConnectionId, Path, description = "Connection")),
    request_body = ConnectionChanges,
    responses(
        (status = 200, description = "The connection", body = Connection),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN or QUOTA_EXCEEDED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn change_connection(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<ConnectionId>,
    Json(request): Json<ConnectionChanges>,
) -> Result<axum::Json<Connection>, ApiError> {
    let editor = caller.scope.editor()?;
    let changes = request.checked()?;
    // As it is before: what follows may be another client's, or of another provider.
    let revocation = match changes.fields.keys().any(|field| IDENTITY.contains(&&**field)) {
        true => revocation(&app, &editor, id).await,
        false => None,
    };
    let service = app.clone();
    let changed = app.store.write(move |db| {
        Box::pin(async move {
            let opened = connections::opened_to_change(db, &service.vault, &editor, id).await?;
            let mut opened = opened.ok_or(Code::NotFound)?;
            let before = identity(&opened);
            apply(&mut opened.fields, changes.fields)?;
            opened.row.display_name = changes.display_name.unwrap_or(opened.row.display_name);
            opened.row.hosts = changes.hosts.map_or(opened.row.hosts, Hosts);
            opened.row.updated_at = service.clock.now();
            let mut is_forgotten = false;
            if opened.row.kind == CONSENTED {
                let consents = service.executions.consents();
                consents.check(&opened.row.provider, &opened.fields)?;
                if opened.row.hosts.0.is_empty() {
                    return Err(ApiError::field("hosts", NEEDS_HOSTS));
                }
                // A refresh token is its client's, and goes to no other provider.
                if identity(&opened) != before {
                    is_forgotten = connection_tokens::forget(db, id).await?;
                }
            }
            connections::update(db, &service.vault, &editor, &opened).await?;
            let entry = Action::ConnectionChanged.of(Object::Connection(id));
            audit::note(db, &editor, entry).await?;
            let environments = workspaces::environments(db, &editor).await?;
            reseed(db, &service, &environments, &opened).await?;
            let own: &[Quota] = &[Quota::ConnectionBytes];
            let seeded: &[Quota] = &[Quota::Secrets, Quota::SecretBytes];
            let mut added = vec![(Payer::User(editor.user()), own)];
            added.extend(
                editor
                    .workspace()
                    .map(|workspace| (Payer::Workspace(workspace), seeded)),
            );
            quota::check(db, &service.quotas, &added).await?;
            let row = connections::find(db, &editor, id).await?.ok_or(Code::NotFound)?;
            Ok::<(ConnectionRow, bool), ApiError>((row, is_forgotten))
        })
    });
    let (changed, is_forgotten) = changed.await?;
    app.executions.environments().changed();
    // Nobody waits for a provider that may not answer.
    if let Some(revocation) = revocation.filter(|_| is_forgotten) {
        tokio::spawn(revocation);
    }
    Ok(axum::Json(changed.into()))
}

/// Brings the secrets that still have the values of a connection in line with its fields: in each environment that has any
/// of them, new fields are added where their names are free.
async fn reseed(
    db: &mut Db<'_>,
    app: &App,
    environments: &[EnvironmentRow],
    opened: &connections::Opened,
) -> Result<(), ApiError> {
    let row = &opened.row;
    let fields = opened.fields.iter().map(|(field, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (field.clone(), value)
    });
    let seeds = derived_seeds(&row.provider, &fields.collect())?;
    let (mut set, mut bytes) = (0_usize, 0_usize);
    for environment in environments {
        let own: BTreeSet<String> = secrets::seeded_by(db, environment, row.id)
            .await?
            .into_iter()
            .collect();
        if own.is_empty() {
            continue;
        }
        let taken: BTreeSet<String> = secrets::names(db, environment).await?.into_iter().collect();
        for name in own.iter().filter(|name| !seeds.contains_key(*name)) {
            secrets::delete_seeded(db, environment, row.id, name).await?;
        }
        for (name, value) in &seeds {
            if taken.contains(name) && !own.contains(name) {
                continue;
            }
            // Before others wait for so many to be written.
            set = set.saturating_add(1);
            bytes = bytes.saturating_add(value.len());
            for (quota, so_far) in [(Quota::Secrets, set), (Quota::SecretBytes, bytes)] {
                app.quotas.allows(quota, so_far).map_err(StoreError::Quota)?;
            }
            let secret = NewSecret {
                name,
                value,
                connection: Some(row.id),
                hosts: &row.hosts.0,
            };
            secrets::set(db, &app.vault, environment, secret, row.updated_at).await?;
        }
    }
    Ok(())
}
