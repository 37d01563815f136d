//! What a pattern names and does not find in an environment.

use crate::active_deployments::ActiveDeployments;
use crate::compile::validation::NeededRights;
use crate::deployment::Origin;
use heddle_catalogue::Start;
use heddle_model::access::Scope;
use heddle_model::error::{Code, Detail, ServiceError};
use heddle_model::ids::PatternId;
use heddle_model::status::DeploymentStatus;
use heddle_model::tenant::Tenant;
use heddle_store::deployments::{self, DeploymentRow};
use heddle_store::{Store, connections, secrets};
use serde::Serialize;
use std::collections::HashSet;
use utoipa::ToSchema;

/// Stands for names that are computed.
const ANY: &str = "*";

/// What a pattern names by name, and is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Missing {
    /// Secrets that the environment does not have.
    #[schema(example = json!(["API_TOKEN"]))]
    pub secrets: Vec<String>,
    /// Variables that the environment does not have.
    #[schema(example = json!(["API_BASE"]))]
    pub variables: Vec<String>,
    /// Connections that the workspace does not have.
    #[schema(example = json!(["orders-db"]))]
    pub connections: Vec<String>,
    /// Patterns that it calls, or names as its error pattern, and that have no active deployment which its runs could start.
    #[schema(example = json!([]))]
    pub patterns: Vec<String>,
}

impl Missing {
    /// Whether all is there.
    pub const fn is_empty(&self) -> bool {
        self.secrets.is_empty()
            && self.variables.is_empty()
            && self.connections.is_empty()
            && self.patterns.is_empty()
    }

    /// Refuses what would fail for want of a secret, a variable or a connection. Patterns may call each other, so that one
    /// of them has to come first.
    pub(super) fn refuse(&self, environment: &str) -> Result<(), ServiceError> {
        let of = |kind: &str, names: &[String], place: &str| -> Vec<Detail> {
            let detail = |name: &String| Detail {
                path: format!("{kind}[{name}]"),
                message: format!("is not {place}"),
            };
            names.iter().map(detail).collect()
        };
        let inside = format!("in the environment `{environment}`");
        let details = [
            of("secrets", &self.secrets, &inside),
            of("variables", &self.variables, &inside),
            of("connections", &self.connections, "in the workspace"),
        ]
        .concat();
        if details.is_empty() {
            return Ok(());
        }
        let texts: Vec<String> = [
            ("secret", &self.secrets),
            ("variable", &self.variables),
            ("connection", &self.connections),
        ]
        .into_iter()
        .flat_map(|(kind, names)| names.iter().map(move |name| format!("{kind} `{name}`")))
        .collect();
        let message = format!(
            "The environment `{environment}` lacks what the deployment needs: {}. Add it there, then promote again. \
             Nothing was deployed.",
            texts.join(", ")
        );
        Err(Code::EnvironmentIncomplete.with(message).with_details(details))
    }
}

/// What runs need, and from where they look for it.
#[derive(Clone, Copy)]
pub(super) struct Needs<'a> {
    pub tenant: Tenant,
    pub origin: Origin,
    pub rights: &'a NeededRights,
    /// The id of the pattern that handles their failures.
    pub error_pattern: Option<&'a str>,
}

/// Finds out what is missing for runs with these needs.
pub(super) async fn missing(
    (store, active): (&Store, &ActiveDeployments),
    scope: &Scope,
    needs: Needs<'_>,
) -> Result<Missing, ServiceError> {
    let Needs {
        tenant,
        origin,
        rights: needed,
        error_pattern,
    } = needs;
    let mut missing = Missing::default();
    let mut reader = store.reader().await?;
    let db = &mut reader.db();
    let (mut known_secrets, mut known_variables) = (HashSet::new(), HashSet::new());
    if let Some(environment) = origin.environment {
        let rows = secrets::list(db, scope, environment).await?;
        known_secrets.extend(rows.into_iter().map(|row| row.name));
        let variables = secrets::variables(db, environment).await?;
        known_variables.extend(variables.into_iter().map(|(name, _)| name));
    }
    let absent = |names: &[String], known: &HashSet<String>| -> Vec<String> {
        names
            .iter()
            .filter(|name| !known.contains(*name))
            .cloned()
            .collect()
    };
    missing.secrets = absent(&needed.secrets, &known_secrets);
    missing.variables = absent(&needed.variables, &known_variables);
    for name in needed.connections.iter().filter(|name| *name != ANY) {
        if connections::resolved(db, tenant, name).await?.is_none() {
            missing.connections.push(name.clone());
        }
    }
    drop(reader);
    for name in needed.patterns.iter().filter(|name| *name != ANY) {
        if deployed((store, active), name, tenant, origin).await?.is_none() {
            missing.patterns.push(name.clone());
        }
    }
    // Nobody would notice otherwise: when a run fails, only the server's log says that nothing handles it.
    if let Some(name) = error_pattern {
        let found = deployed((store, active), name, tenant, origin).await?;
        let handles = found.is_some_and(|row| row.has_trigger_of(Start::Error.type_name()));
        if !handles && !missing.patterns.iter().any(|known| known == name) {
            missing.patterns.push(name.to_owned());
        }
    }
    Ok(missing)
}

/// The active deployment that runs of this origin find of a pattern.
async fn deployed(
    (store, active): (&Store, &ActiveDeployments),
    name: &str,
    tenant: Tenant,
    origin: Origin,
) -> Result<Option<DeploymentRow>, ServiceError> {
    let Ok(pattern) = name.parse::<PatternId>() else {
        return Ok(None);
    };
    let slot = active.slot_for(pattern, origin).await?;
    let found = deployments::in_slot_for_system(&mut store.reader().await?.db(), slot).await?;
    Ok(found.filter(|row| {
        row.status == DeploymentStatus::Active && Tenant::of(row.user_id, row.workspace_id) == tenant
    }))
}
