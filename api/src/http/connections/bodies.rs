//! What requests and answers about connections have in common.

use crate::http::error::ApiError;
use crate::http::extract::{Scalars, Unfit};
use crate::http::secret_fields::secret_value;
use heddle_model::clock::Timestamp;
use heddle_model::ids::ConnectionId;
use heddle_model::secret_name;
use heddle_store::connections::ConnectionRow;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Maximum number of fields of a connection.
pub const FIELDS_MAX: usize = 50;

/// A connection, without its credentials.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Connection {
    id: ConnectionId,
    #[schema(example = "open-ai")]
    provider: String,
    #[schema(example = "OpenAI of the accounting team")]
    display_name: String,
    /// `oauth`, `api_key` or `credentials`.
    #[serde(rename = "type")]
    #[schema(example = "api_key")]
    kind: String,
    /// `active`, or `consent_needed`: somebody has to consent to it at its provider, for the first time or again.
    #[schema(example = "active")]
    status: String,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<ConnectionRow> for Connection {
    fn from(row: ConnectionRow) -> Self {
        Connection {
            id: row.id,
            provider: row.provider,
            display_name: row.display_name,
            kind: row.kind,
            status: row.status,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// The secrets that were created from a connection's credentials.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SeedResult {
    /// Number of distinct secret names.
    pub secrets_seeded: usize,
    #[schema(example = json!(["OPEN_AI_API_KEY"]))]
    pub secret_names: Vec<String>,
}

/// A new connection.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedConnection {
    #[serde(flatten)]
    pub connection: Connection,
    pub seed_result: SeedResult,
}

/// The fields of a connection as they are sent.
#[derive(Default, Deserialize)]
#[serde(transparent)]
pub struct SentFields(Scalars<FIELDS_MAX>);

impl SentFields {
    /// Their values as they are stored.
    pub fn values(self) -> Result<BTreeMap<String, String>, ApiError> {
        let values = self.fit()?.into_iter().map(|(field, value)| {
            let stored = credential(&field, value);
            stored.map(|stored| (field, stored))
        });
        values.collect()
    }

    /// Values to set, and names to remove, whose value is null.
    pub fn changes(self) -> Result<BTreeMap<String, Option<String>>, ApiError> {
        let changes = self.fit()?.into_iter().map(|(field, value)| {
            if value.is_null() {
                return Ok((field, None));
            }
            let stored = credential(&field, value);
            stored.map(|stored| (field, Some(stored)))
        });
        changes.collect()
    }

    fn fit(self) -> Result<Map<String, Value>, ApiError> {
        self.0.fit().map_err(|unfit| match unfit {
            Unfit::TooMany => ApiError::field("credentials", "must have at most 50 fields"),
            Unfit::Composite(field) => no_credential(&field),
        })
    }
}

/// The value of a field as it is stored.
fn credential(field: &str, value: Value) -> Result<String, ApiError> {
    let value = match value {
        Value::String(text) => text,
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        _ => return Err(no_credential(field)),
    };
    secret_value(&path_of(field), &value)?;
    Ok(value)
}

fn path_of(field: &str) -> String {
    format!("credentials.{field}")
}

fn no_credential(field: &str) -> ApiError {
    ApiError::field(path_of(field), "must be a string, a number or a boolean")
}

/// The secrets that a connection's fields make, by name.
pub fn derived_seeds(
    provider: &str,
    fields: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, ApiError> {
    let mut seeds = BTreeMap::new();
    for (field, value) in fields {
        let name = secret_name::derived(provider, field).ok_or_else(|| {
            let problem = "the provider and the field don't yield a valid secret name";
            ApiError::field("provider", format!("`{provider}`, field `{field}`: {problem}"))
        })?;
        seeds.insert(name, value.clone());
    }
    Ok(seeds)
}
