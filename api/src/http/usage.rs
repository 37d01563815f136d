//! `/api/workspaces/:id/usage` and `/api/workspaces/:id/quotas`: what a workspace has used, for its owners and admins. The
//! report is the operator's as well.

use super::cursor;
use super::extract::{Member, Query, given};
use super::reply::{CursorMeta, Enveloped, Listed};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use heddle_execution::QuotaUsage;
use heddle_model::Code;
use heddle_model::clock::Timestamp;
use heddle_model::ids::WorkspaceId;
use heddle_model::tenant::Tenant;
use heddle_model::usage::month_of;
use heddle_model::workspace_quota::Period;
use heddle_store::StoreError;
use heddle_store::usage::{self, Report, Span, UsageRow};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::time::Duration;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Rows of a page, and of what is read at a time.
const PAGE: i64 = 1_000;
/// The longest time of one report.
const REPORT_MAX: Duration = Duration::from_secs(400 * 24 * 60 * 60);
const CSV: &str = "text/csv";
/// The first line of a report as CSV.
const HEADINGS: &str = "tenantId,beganAt,runs,failedRuns,fuel,memoryMibSeconds,effects,egressBytes,storedBytes,\
     testRuns,testFuel,testMemoryMibSeconds,testEffects,testEgressBytes\r\n";

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(workspace_usage))
        .routes(routes!(workspace_quotas))
}

/// How long each span of a report is.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum UsageBy {
    /// An hour.
    Hour,
    /// A day in UTC.
    #[default]
    Day,
}

/// How to answer.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum UsageFormat {
    /// A page of the list.
    Json,
    /// All rows, with a line of headings.
    Csv,
}

/// Which report to give.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct UsageQuery {
    /// From the hour or day on that this time is in; default: the beginning of the month.
    #[param(value_type = Option<String>, format = DateTime)]
    #[serde(default, deserialize_with = "given")]
    from: Option<Timestamp>,
    /// Before this time; default: now.
    #[param(value_type = Option<String>, format = DateTime)]
    #[serde(default, deserialize_with = "given")]
    to: Option<Timestamp>,
    /// How long each span is.
    #[param(inline)]
    by: Option<UsageBy>,
    /// The `nextCursor` of the page before.
    #[param(max_length = 100)]
    cursor: Option<String>,
    /// How to answer; default: by the Accept header.
    #[param(inline)]
    format: Option<UsageFormat>,
}

impl UsageQuery {
    fn report(&self, tenant: Option<Tenant>, now: Timestamp) -> Result<Report, ApiError> {
        let span = match self.by.unwrap_or_default() {
            UsageBy::Hour => Span::Hour,
            UsageBy::Day => Span::Day,
        };
        let (from, to) = (self.from.unwrap_or(month_of(now).0), self.to.unwrap_or(now));
        if from > to {
            return Err(ApiError::field("from", "must not be after `to`"));
        }
        if from.plus(REPORT_MAX) < to {
            return Err(ApiError::field("from", "must be at most 400 days before `to`"));
        }
        let from = span.beginning(from);
        Ok(Report {
            tenant,
            from,
            to,
            span,
        })
    }

    fn after(&self) -> Result<Option<(Timestamp, String)>, ApiError> {
        let read = |cursor: &str| {
            let (at, tenant) = cursor.split_once('.')?;
            let at = Timestamp::from_millis(at.parse().ok()?);
            // PostgreSQL has no text with it.
            (!tenant.contains('\0')).then(|| (at, tenant.to_owned()))
        };
        cursor::after(self.cursor.as_deref(), read)
    }

    fn is_csv(&self, headers: &HeaderMap) -> bool {
        let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
        match self.format {
            Some(format) => matches!(format, UsageFormat::Csv),
            None => accepted.is_some_and(|accepted| {
                let mut kinds = accepted.split(',');
                kinds.any(|kind| kind.split(';').next().unwrap_or_default().trim() == CSV)
            }),
        }
    }
}

/// What was used within an hour or a day.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct UsageSpan {
    /// The workspace, or a user outside of workspaces.
    #[schema(format = "uuid")]
    tenant_id: String,
    /// When the span began.
    began_at: Timestamp,
    /// Runs that ended.
    runs: i64,
    /// Those of them that failed.
    failed_runs: i64,
    /// Fuel of all executions, roughly instructions; also of those that were followed by a wait or by another attempt.
    fuel: i64,
    /// Of each execution, its peak memory in MiB times its seconds.
    memory_mib_seconds: f64,
    /// Effects that were begun.
    effects: i64,
    /// Bytes of the requests that effects sent to other hosts, as the patterns made them.
    egress_bytes: i64,
    /// The most that was found to be stored, in bytes; it is measured once an hour.
    stored_bytes: i64,
    /// Test runs and replays, which are in none of the other figures.
    test_runs: i64,
    /// Their fuel.
    test_fuel: i64,
    /// Of each of them, its peak memory in MiB times its seconds.
    test_memory_mib_seconds: f64,
    /// Effects that they began.
    test_effects: i64,
    /// Bytes of the requests that they sent to other hosts.
    test_egress_bytes: i64,
}

impl From<UsageRow> for UsageSpan {
    fn from(row: UsageRow) -> Self {
        UsageSpan {
            tenant_id: row.tenant_id,
            began_at: row.began_at,
            runs: row.runs,
            failed_runs: row.failed_runs,
            fuel: row.fuel,
            memory_mib_seconds: row.memory_kib_ms as f64 / 1_024.0 / 1_000.0,
            effects: row.effects,
            egress_bytes: row.egress_bytes,
            stored_bytes: row.stored_bytes,
            test_runs: row.test_runs,
            test_fuel: row.test_fuel,
            test_memory_mib_seconds: row.test_memory_kib_ms as f64 / 1_024.0 / 1_000.0,
            test_effects: row.test_effects,
            test_egress_bytes: row.test_egress_bytes,
        }
    }
}

impl UsageSpan {
    /// As a line of CSV. None of the texts needs quotes.
    fn write_csv(&self, lines: &mut String) {
        // Writing into memory can't fail.
        let _ = write!(
            lines,
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{}\r\n",
            self.tenant_id,
            self.began_at,
            self.runs,
            self.failed_runs,
            self.fuel,
            self.memory_mib_seconds,
            self.effects,
            self.egress_bytes,
            self.stored_bytes,
            self.test_runs,
            self.test_fuel,
            self.test_memory_mib_seconds,
            self.test_effects,
            self.test_egress_bytes
        );
    }
}

/// A quota, and how much of it is used.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct QuotaStanding {
    #[schema(example = "runsPerMonth")]
    name: &'static str,
    /// What it counts, for people.
    #[schema(example = "runs per month")]
    counts: &'static str,
    /// Null: no limit.
    limit: Option<i64>,
    /// How much is used; null: that is not measured.
    used: Option<i64>,
    /// Whether four fifths of it are used.
    is_nearly_used: bool,
    /// `month` or `minute`: when it begins anew. `run`: it is what one run may have. Null: it counts what is there.
    #[schema(example = "month")]
    period: Option<&'static str>,
}

impl From<QuotaUsage> for QuotaStanding {
    fn from(standing: QuotaUsage) -> Self {
        QuotaStanding {
            name: standing.quota.name(),
            counts: standing.quota.noun(),
            limit: standing.limit,
            used: standing.used,
            is_nearly_used: standing.is_nearly_used(),
            period: match standing.quota.period() {
                Period::None => None,
                Period::Minute => Some("minute"),
                Period::Month => Some("month"),
                Period::Run => Some("run"),
            },
        }
    }
}

/// Reports what the workspace has used, by hour or day, the oldest first. Spans in which nothing was used are left out.
/// Requires the role admin.
///
/// With `format=csv`, or if `text/csv` is accepted, all rows are sent.
#[utoipa::path(
    get, path = "/api/workspaces/{id}/usage", tag = "Workspaces", security(("bearer" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace"), UsageQuery),
    responses(
        (status = 200, description = "A page, or all rows as CSV", content(
            (Listed<UsageSpan, CursorMeta> = "application/json"),
            (String = "text/csv"),
        )),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND", body = ErrorBody),
    )
)]
async fn workspace_usage(
    State(app): State<App>,
    Member(scope): Member,
    headers: HeaderMap,
    Query(query): Query<UsageQuery>,
) -> Result<Response, ApiError> {
    let administrator = scope.administrator()?;
    let workspace = administrator.workspace().ok_or(Code::WorkspaceNotFound)?;
    answer(app, Some(Tenant::Workspace(workspace)), &headers, &query).await
}

/// Gets the quotas of the workspace, and how much of each is used. Requires the role admin.
#[utoipa::path(
    get, path = "/api/workspaces/{id}/quotas", tag = "Workspaces", security(("bearer" = [])),
    params(("id" = WorkspaceId, Path, description = "Workspace")),
    responses(
        (status = 200, description = "The quotas", body = Enveloped<Vec<QuotaStanding>>),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "WORKSPACE_NOT_FOUND", body = ErrorBody),
    )
)]
async fn workspace_quotas(
    State(app): State<App>,
    Member(scope): Member,
) -> Result<Enveloped<Vec<QuotaStanding>>, ApiError> {
    let administrator = scope.administrator()?;
    let workspace = administrator.workspace().ok_or(Code::WorkspaceNotFound)?;
    standings(&app, workspace).await.map(Enveloped::new)
}

/// The quotas of a workspace.
pub(super) async fn standings(app: &App, workspace: WorkspaceId) -> Result<Vec<QuotaStanding>, ApiError> {
    let standings = app.executions.tenants().quota_usage(workspace).await?;
    Ok(standings.into_iter().map(QuotaStanding::from).collect())
}

/// Gives a report as it is asked for; of one tenant, or of all.
pub(super) async fn answer(
    app: App,
    tenant: Option<Tenant>,
    headers: &HeaderMap,
    query: &UsageQuery,
) -> Result<Response, ApiError> {
    let report = query.report(tenant, app.clock.now())?;
    let after = query.after()?;
    app.store.meter().await?;
    if query.is_csv(headers) {
        return Ok(exported(app, report, after));
    }
    // One more tells whether there is a next page.
    let mut rows = usage::report(&mut app.store.reader().await?.db(), &report, after, PAGE + 1).await?;
    let next_cursor = cursor::next(&mut rows, PAGE, |row| {
        cursor::of_time(row.began_at, &row.tenant_id)
    });
    let spans: Vec<UsageSpan> = rows.into_iter().map(UsageSpan::from).collect();
    let meta = CursorMeta {
        limit: PAGE,
        next_cursor,
    };
    Ok(Listed::new(spans, meta).into_response())
}

/// Where an export is.
struct Export {
    app: App,
    report: Report,
    after: Option<(Timestamp, String)>,
    lines: String,
    is_over: bool,
}

impl Export {
    /// The next lines; `None` after the last ones.
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, StoreError> {
        if self.is_over {
            return Ok(None);
        }
        let mut reader = self.app.store.reader().await?;
        let rows = usage::report(&mut reader.db(), &self.report, self.after.take(), PAGE).await?;
        drop(reader);
        self.is_over = i64::try_from(rows.len()).unwrap_or(i64::MAX) < PAGE;
        self.after = rows.last().map(|row| (row.began_at, row.tenant_id.clone()));
        let mut lines = std::mem::take(&mut self.lines);
        for row in rows {
            UsageSpan::from(row).write_csv(&mut lines);
        }
        Ok(Some((lines.into(), self)))
    }
}

/// All rows as CSV. They are read while they are sent; what fails then breaks the connection off.
fn exported(app: App, report: Report, after: Option<(Timestamp, String)>) -> Response {
    let export = Export {
        app,
        report,
        after,
        lines: HEADINGS.to_owned(),
        is_over: false,
    };
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8"),
        (CONTENT_DISPOSITION, "attachment; filename=\"usage.csv\""),
    ];
    let body = Body::from_stream(stream::try_unfold(export, Export::next));
    (headers, body).into_response()
}
