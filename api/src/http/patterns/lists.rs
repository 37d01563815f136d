//! `GET /api/patterns`: the caller's patterns, or all of a workspace with what is deployed of them.

use super::bodies::{TAGS_MAX, bounded};
use crate::app::App;
use crate::http::cursor;
use crate::http::deployments::{Trigger, triggers};
use crate::http::error::{ApiError, ErrorBody};
use crate::http::extract::{Caller, Query, given, limit, offset, printable};
use crate::http::reply::{Listed, OffsetMeta};
use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, PatternId, RunId, UserId};
use heddle_model::status::{DeploymentStatus, RunStatus};
use heddle_store::deployments::{self, ListedRow, RecentRow};
use heddle_store::patterns::{self as rows, Filter, Order, PatternRow, Place, Sort, SortedAt};
use heddle_store::{Db, StoreError};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use utoipa::ToSchema;

const SEARCH_CHARS_MAX: usize = 200;

/// A pattern in a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PatternSummary {
    id: PatternId,
    #[schema(example = "Order alerts")]
    name: String,
    #[schema(example = "Tells the team about large orders.")]
    description: String,
    is_public: bool,
    is_template: bool,
    #[schema(example = json!(["orders", "chat"]))]
    tags: Vec<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// Only with `owner=workspace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    overview: Option<PatternOverview>,
}

impl From<PatternRow> for PatternSummary {
    fn from(row: PatternRow) -> Self {
        PatternSummary {
            id: row.id,
            name: row.name,
            description: row.description,
            is_public: row.is_public,
            is_template: row.is_template,
            tags: row.tags.0,
            created_at: row.created_at,
            updated_at: row.updated_at,
            overview: None,
        }
    }
}

/// What a pattern is doing, and whose it is.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct PatternOverview {
    owner: PatternOwner,
    /// The newest version.
    #[schema(minimum = 1)]
    version_number: i64,
    /// Whether the caller starred it.
    starred: bool,
    /// Null if it was never deployed.
    deployment: Option<PatternDeployment>,
}

/// Who made a pattern.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PatternOwner {
    id: UserId,
    /// Null if they no longer have an account.
    first_name: Option<String>,
    last_name: Option<String>,
}

/// The deployment of a pattern in a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PatternDeployment {
    id: DeploymentId,
    status: DeploymentStatus,
    /// The deployed version.
    version_number: i64,
    triggers: Vec<Trigger>,
    /// Null before the first run.
    last_run: Option<LatestRun>,
    /// The newest runs, newest first, at most 12.
    recent_runs: Vec<LatestRun>,
    /// Why it failed.
    error_message: Option<String>,
}

/// A run of a deployment, in short.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct LatestRun {
    id: RunId,
    status: RunStatus,
    started_at: Timestamp,
    /// Null until it has ended.
    duration_ms: Option<i64>,
}

impl LatestRun {
    fn of(row: &ListedRow) -> Option<LatestRun> {
        Some(LatestRun {
            id: row.last_run_id?,
            status: RunStatus::try_from(row.last_status.clone()?).ok()?,
            started_at: Timestamp::from_millis(row.last_started_at?),
            duration_ms: row.last_duration_ms,
        })
    }
}

impl From<RecentRow> for LatestRun {
    fn from(row: RecentRow) -> Self {
        LatestRun {
            id: row.id,
            status: row.status,
            started_at: row.started_at,
            duration_ms: row.duration_ms,
        }
    }
}

impl TryFrom<ListedRow> for PatternDeployment {
    type Error = StoreError;

    fn try_from(row: ListedRow) -> Result<Self, StoreError> {
        let last_run = LatestRun::of(&row);
        Ok(PatternDeployment {
            id: row.id,
            status: row.status,
            version_number: row.version_number,
            triggers: triggers(row.id, &row.triggers)?,
            last_run,
            recent_runs: Vec::new(),
            error_message: row.error_message,
        })
    }
}

/// The patterns of a page with their overviews.
async fn with_overviews(
    db: &mut Db<'_>,
    caller: &Caller,
    page: Vec<PatternRow>,
) -> Result<Vec<PatternSummary>, StoreError> {
    let ids: Vec<PatternId> = page.iter().map(|row| row.id).collect();
    let listed = rows::listed(db, &caller.scope, &ids).await?;
    let mut listed: HashMap<PatternId, rows::ListedRow> =
        listed.into_iter().map(|row| (row.id, row)).collect();
    let deployed = deployments::list_of_patterns(db, &caller.scope, &ids).await?;
    let mut deployed: HashMap<PatternId, ListedRow> =
        deployed.into_iter().map(|row| (row.pattern_id, row)).collect();
    let shown: Vec<DeploymentId> = deployed.values().map(|row| row.id).collect();
    let mut recent: HashMap<DeploymentId, Vec<LatestRun>> = HashMap::new();
    for run in deployments::recent_runs(db, &shown).await? {
        recent.entry(run.deployment_id).or_default().push(run.into());
    }
    let mut summaries = Vec::with_capacity(page.len());
    for row in page {
        let (id, owner, version_number) = (row.id, row.owner_id, row.version_number);
        let listed = listed.remove(&id);
        let starred = listed.as_ref().is_some_and(|listed| listed.is_starred);
        let (first_name, last_name) = listed.map_or((None, None), |row| (row.first_name, row.last_name));
        let mut deployment = deployed
            .remove(&id)
            .map(PatternDeployment::try_from)
            .transpose()?;
        if let Some(deployment) = &mut deployment {
            deployment.recent_runs = recent.remove(&deployment.id).unwrap_or_default();
        }
        let mut summary = PatternSummary::from(row);
        summary.overview = Some(PatternOverview {
            owner: PatternOwner {
                id: owner,
                first_name,
                last_name,
            },
            version_number,
            starred,
            deployment,
        });
        summaries.push(summary);
    }
    Ok(summaries)
}

/// What to list, and in which order.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListQuery {
    /// Part of the name, case-insensitive.
    #[param(max_length = 200)]
    search: Option<String>,
    /// Whose patterns to list; default: `me`. With `workspace` each has an `overview`.
    #[param(inline)]
    owner: Option<OwnerFilter>,
    /// Whether to list only public or only private patterns.
    #[serde(default, deserialize_with = "given")]
    is_public: Option<bool>,
    /// Whether to list only templates or only other patterns.
    #[serde(default, deserialize_with = "given")]
    is_template: Option<bool>,
    /// A tag that patterns must have; repeat it to require several.
    #[serde(default)]
    #[param(required = false, max_items = 50)]
    tags: Vec<String>,
    /// Patterns per page, at most 100.
    #[param(minimum = 1, default = 20)]
    #[serde(default, deserialize_with = "given")]
    limit: Option<i64>,
    /// Number of patterns to skip.
    #[param(minimum = 0, default = 0)]
    #[serde(default, deserialize_with = "given")]
    offset: Option<i64>,
    /// The `nextCursor` of the page before, in place of `offset`; nothing (`cursor=`) for the first one. The order must stay the
    /// same.
    #[param(max_length = 2000)]
    cursor: Option<String>,
    /// What to sort by; default: `createdAt`.
    #[param(inline)]
    sort_by: Option<SortBy>,
    /// By default, names ascend and times descend.
    #[param(inline)]
    sort_order: Option<SortOrder>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum OwnerFilter {
    /// The caller's own.
    Me,
    /// Those of all members of the active workspace.
    Workspace,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
enum SortBy {
    Name,
    CreatedAt,
    UpdatedAt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum SortOrder {
    Asc,
    Desc,
}

impl ListQuery {
    fn filter(self) -> Result<Filter, ApiError> {
        if let Some(search) = &self.search {
            bounded("search", search, SEARCH_CHARS_MAX)?;
        }
        if self.tags.len() > TAGS_MAX {
            return Err(ApiError::field(
                "tags",
                format!("can be given at most {TAGS_MAX} times"),
            ));
        }
        for tag in &self.tags {
            printable("tags", tag)?;
        }
        let by = match self.sort_by {
            Some(SortBy::Name) => Sort::Name,
            Some(SortBy::CreatedAt) | None => Sort::CreatedAt,
            Some(SortBy::UpdatedAt) => Sort::UpdatedAt,
        };
        let paged = ("offset", self.offset.is_some(), offset(self.offset)?);
        Ok(Filter {
            is_of_workspace: self.owner == Some(OwnerFilter::Workspace),
            search: self.search.filter(|search| !search.is_empty()),
            is_public: self.is_public,
            is_template: self.is_template,
            tags: self.tags,
            order: Order {
                by,
                is_descending: self
                    .sort_order
                    .map_or(by != Sort::Name, |order| order == SortOrder::Desc),
            },
            limit: limit(self.limit, 20, 100)?,
            start: cursor::start(self.cursor.as_deref(), paged, |cursor| place(cursor, by))?,
        })
    }
}

/// The place in a list in this order that a cursor names.
fn place(cursor: &str, by: Sort) -> Option<Place> {
    if by != Sort::Name {
        let (at, id) = cursor::by_time(cursor)?;
        let at = SortedAt::Time(at);
        return Some(Place { at, id });
    }
    let (name, id) = cursor.split_once('.')?;
    let name = String::from_utf8(URL_SAFE_NO_PAD.decode(name).ok()?).ok()?;
    let is_plain = !name.contains('\0');
    let at = SortedAt::Name(name);
    let id = id.parse().ok()?;
    is_plain.then_some(Place { at, id })
}

/// The cursor of a pattern in a list in this order.
fn cursor_of(row: &PatternRow, by: Sort) -> String {
    match by {
        Sort::Name => format!("{}.{}", URL_SAFE_NO_PAD.encode(rows::folded(&row.name)), row.id),
        Sort::CreatedAt => cursor::of_time(row.created_at, row.id),
        Sort::UpdatedAt => cursor::of_time(row.updated_at, row.id),
    }
}

/// Lists the caller's patterns, or all of the active workspace.
///
/// By default those that the caller made in the active workspace, newest first unless another order is requested.
#[utoipa::path(
    get, path = "/api/patterns", operation_id = "list_patterns", tag = "Patterns", params(ListQuery), security(("bearer" = [])),
    responses(
        (status = 200, description = "A page", body = Listed<PatternSummary, OffsetMeta>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
    )
)]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<ListQuery>,
) -> Result<Listed<PatternSummary, OffsetMeta>, ApiError> {
    let (has_cursor, mut filter) = (query.cursor.is_some(), query.filter()?);
    let limit = filter.limit;
    filter.limit += 1;
    let mut reader = app.store.reader().await?;
    let (mut page, total) = rows::list(&mut reader.db(), &caller.scope, &filter).await?;
    let next = cursor::next(&mut page, limit, |row| cursor_of(row, filter.order.by));
    let summaries = match filter.is_of_workspace {
        true => with_overviews(&mut reader.db(), &caller, page).await?,
        false => page.into_iter().map(Into::into).collect(),
    };
    let meta = OffsetMeta {
        total,
        limit,
        offset: filter.start.offset(),
        next_cursor: has_cursor.then_some(next),
    };
    Ok(Listed::new(summaries, meta))
}
