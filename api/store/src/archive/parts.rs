//! Which rows of which tables an archive has, in which order, and what each column holds. A table that is added by a migration
//! and belongs to a workspace is added here, which a test of the tables holds.

use super::known_names::{
    is_deployment_status, is_outcome, is_phase, is_role, is_run_status, is_trigger, is_webhook_status,
};
use super::part::{Column, Each, Key, Kind, Of, Part, Sealed};

macro_rules! columns {
    ($($name:ident $kind:expr),* $(,)?) => {
        &[$(Column { name: stringify!($name), kind: $kind }),*]
    };
}

macro_rules! keys {
    ($($column:literal $(@ $number:ident)?),*) => {
        &[$(Key { column: $column, is_number: keys!(@ $($number)?) }),*]
    };
    (@) => { false };
    (@ number) => { true };
}

/// Names and other short texts.
const SHORT: usize = 16 << 10;
/// Graphs, events, outputs and the like.
const LONG: usize = 64 << 20;

const NAME: Kind = Kind::Text(SHORT, false);
const MAYBE: Kind = Kind::Text(SHORT, true);
const JSON: Kind = Kind::Json(LONG, false);
const MAYBE_JSON: Kind = Kind::Json(LONG, true);

const KEYS_OF_WEBHOOKS: &[Column] =
    columns![scope Kind::Within(Of::Webhook), key NAME, run_id Kind::Was(Of::Run), expires_at Kind::Int];
const KEYS_OF_MAILBOXES: &[Column] =
    columns![scope Kind::Within(Of::Mailbox), key NAME, run_id Kind::Was(Of::Run), expires_at Kind::Int];
const KEYS_OF_SCHEDULES: &[Column] =
    columns![scope Kind::Within(Of::Schedule), key NAME, run_id Kind::Was(Of::Run), expires_at Kind::Int];
const KEYS_OF_RUNS: &[Column] =
    columns![scope Kind::Within(Of::Run), key NAME, run_id Kind::Was(Of::Run), expires_at Kind::Int];

const fn part(
    name: &'static str,
    table: &'static str,
    (each, from): (Each, &'static str),
    keys: &'static [Key],
    columns: &'static [Column],
) -> Part {
    Part {
        name,
        table,
        each,
        from,
        keys,
        columns,
        sealed: None,
        is_copied: true,
    }
}

const fn sealed(part: Part, sealed: Sealed) -> Part {
    Part {
        sealed: Some(sealed),
        ..part
    }
}

/// Not what a copy has.
const fn moved(part: Part) -> Part {
    Part {
        is_copied: false,
        ..part
    }
}

/// People whom rows name, by their addresses; not a table that is written.
pub(super) const PEOPLE: &str = "people";
/// Modules, of which those that are there already are not written.
pub(super) const MODULES: &str = "artifacts";
pub(super) const DEFINITIONS: &str = "pattern_definitions";
pub(super) const VERSIONS: &str = "pattern_versions";
pub(super) const DRAFTS: &str = "pattern_drafts";
pub(super) const RUNS: &str = "runs";
pub(super) const TAP_EVENTS: &str = "tap_events";
pub(super) const DEPLOYMENTS: &str = "deployments";
pub(super) const SCHEDULES: &str = "schedules";
pub(super) const SUBSCRIPTIONS: &str = "subscriptions";
pub(super) const JOURNALS: &str = "run_journals";

/// All parts, each after what it refers to.
pub(super) static PARTS: &[Part] = &[
    part(
        PEOPLE,
        "",
        (
            Each::Workspace,
            "(select u.id, u.email, (select m.role from memberships m where m.user_id = u.id and m.workspace_id = ?) as role,
              (select m.created_at from memberships m where m.user_id = u.id and m.workspace_id = ?) as joined_at
              from users u where u.id in (
                select user_id from memberships where workspace_id = ?
                union select owner_id from patterns where workspace_id = ?
                union select user_id from connections where workspace_id = ?
                union select user_id from deployments where workspace_id = ?
                union select v.created_by from patterns p join pattern_versions v on v.pattern_id = p.id
                      where p.workspace_id = ?
                union select f.user_id from patterns p join pattern_drafts f on f.pattern_id = p.id
                      where p.workspace_id = ?
                union select s.user_id from patterns p join pattern_stars s on s.pattern_id = p.id
                      where p.workspace_id = ?)) t where true",
        ),
        keys!["t.id"],
        columns![id NAME, email NAME, role MAYBE, joined_at Kind::MaybeInt],
    ),
    part(
        "environments",
        "environments",
        (Each::Workspace, "environments t where t.workspace_id = ?"),
        keys!["t.id"],
        columns![
            id Kind::Id, workspace_id Kind::Workspace, name NAME, variables JSON, created_at Kind::Int, rules MAYBE_JSON
        ],
    ),
    part(
        "past_variables",
        "past_variables",
        (Each::Environment, "past_variables t where t.environment_id = ?"),
        keys!["t.until" @ number],
        columns![environment_id Kind::Within(Of::Environment), since Kind::Int, until Kind::Int, variables JSON],
    ),
    sealed(
        part(
            "connections",
            "connections",
            (Each::Workspace, "connections t where t.workspace_id = ?"),
            keys!["t.id"],
            columns![
                id Kind::Id, user_id Kind::Owner, workspace_id Kind::Workspace, provider NAME, display_name NAME, type NAME,
                status NAME, created_at Kind::Int, updated_at Kind::Int, hosts JSON
            ],
        ),
        Sealed::Connection,
    ),
    sealed(
        part(
            "secrets",
            "secrets",
            (Each::Environment, "secrets t where t.environment_id = ?"),
            keys!["t.name"],
            columns![
                environment_id Kind::Within(Of::Environment), name NAME, connection_id Kind::Was(Of::Connection),
                created_at Kind::Int, updated_at Kind::Int, hosts JSON
            ],
        ),
        Sealed::Secret,
    ),
    part(
        "patterns",
        "patterns",
        (Each::Workspace, "patterns t where t.workspace_id = ?"),
        keys!["t.id"],
        columns![
            id Kind::Id, owner_id Kind::Owner, workspace_id Kind::Workspace, name NAME, name_key NAME,
            description Kind::Text(LONG, false), is_public Kind::Bool, is_template Kind::Bool, tags JSON,
            version_number Kind::Size, created_at Kind::Int, updated_at Kind::Int, call_interface MAYBE_JSON,
            private_until Kind::Int, stored_bytes Kind::Size, main_environment_id Kind::Was(Of::Environment)
        ],
    ),
    part(
        "pattern_tags",
        "pattern_tags",
        (Each::Pattern, "pattern_tags t where t.pattern_id = ?"),
        keys!["t.tag"],
        columns![pattern_id Kind::Within(Of::Pattern), tag NAME],
    ),
    part(
        DEFINITIONS,
        "pattern_definitions",
        (Each::Pattern, "pattern_definitions t where t.pattern_id = ?"),
        keys!["t.hash"],
        columns![pattern_id Kind::Within(Of::Pattern), hash NAME, definitions JSON],
    ),
    part(
        VERSIONS,
        "pattern_versions",
        (Each::Pattern, "pattern_versions t where t.pattern_id = ?"),
        keys!["t.version_number" @ number],
        columns![
            pattern_id Kind::Within(Of::Pattern), version_number Kind::Size, created_at Kind::Int, created_by Kind::Author,
            summary Kind::Text(LONG, false), definitions_hash MAYBE, graph JSON
        ],
    ),
    part(
        DRAFTS,
        "pattern_drafts",
        (Each::Pattern, "pattern_drafts t where t.pattern_id = ?"),
        keys!["t.user_id"],
        columns![
            pattern_id Kind::Within(Of::Pattern), user_id Kind::Account, base_version Kind::Int, etag NAME,
            updated_at Kind::Int, stored_bytes Kind::Size, definitions MAYBE_JSON, graph JSON
        ],
    ),
    part(
        "pattern_tests",
        "pattern_tests",
        (Each::Pattern, "pattern_tests t where t.pattern_id = ?"),
        keys!["t.id"],
        columns![
            id Kind::Id, pattern_id Kind::Within(Of::Pattern), name NAME, created_at Kind::Int, updated_at Kind::Int,
            stored_bytes Kind::Size, last_status MAYBE, last_at Kind::MaybeInt, last_version Kind::MaybeInt, content JSON
        ],
    ),
    part(
        "pattern_stars",
        "pattern_stars",
        (Each::Pattern, "pattern_stars t where t.pattern_id = ?"),
        keys!["t.user_id"],
        columns![pattern_id Kind::Within(Of::Pattern), user_id Kind::Account, created_at Kind::Int],
    ),
    sealed(
        part(
            "webhook_endpoints",
            "webhook_endpoints",
            (Each::Pattern, "webhook_endpoints t where t.pattern_id = ?"),
            keys!["t.id"],
            columns![
                id Kind::Id, pattern_id Kind::Within(Of::Pattern), slot Kind::Slot, workspace_id Kind::Workspace,
                node_id NAME, webhook_id Kind::Address(Of::Webhook), alias NAME, scheme NAME,
                parameters Kind::Text(LONG, false), is_present Kind::Bool, created_at Kind::Int
            ],
        ),
        Sealed::Endpoint,
    ),
    part(
        "email_endpoints",
        "email_endpoints",
        (Each::Pattern, "email_endpoints t where t.pattern_id = ?"),
        keys!["t.id"],
        columns![
            id Kind::Id, pattern_id Kind::Within(Of::Pattern), slot Kind::Slot, node_id NAME,
            mailbox Kind::Address(Of::Mailbox), alias NAME, is_present Kind::Bool, created_at Kind::Int
        ],
    ),
    part(
        TAP_EVENTS,
        "tap_events",
        (
            Each::Pattern,
            "webhook_endpoints e join tap_events t on t.endpoint_id = e.id where e.pattern_id = ?",
        ),
        keys!["t.id"],
        columns![id Kind::Id, endpoint_id Kind::Within(Of::Webhook), received_at Kind::Int, event JSON],
    ),
    part(
        "webhook_logs",
        "webhook_logs",
        (Each::Pattern, "webhook_logs t where t.pattern_id = ?"),
        keys!["t.created_at" @ number, "t.id"],
        columns![
            id Kind::Id, webhook_id NAME, pattern_id Kind::Within(Of::Pattern), status Kind::Name(is_webhook_status),
            status_code Kind::Int, rejection_reason MAYBE, ip_address NAME, user_agent MAYBE, content_length Kind::Int,
            request_id NAME, run_id Kind::Past, created_at Kind::Int
        ],
    ),
    part(
        MODULES,
        "artifacts",
        (
            Each::Workspace,
            "artifacts t where t.hash in (select artifact from deployments where workspace_id = ?
             union select r.artifact from deployments d join runs r on r.deployment_id = d.id
                   where d.workspace_id = ? and r.status = 'running'
             union select r.artifact from run_journals k join runs r on r.id = k.run_id
                   where k.is_kept and k.tenant_id = ?)",
        ),
        keys!["t.hash"],
        columns![hash Kind::Module, created_at Kind::Int],
    ),
    part(
        DEPLOYMENTS,
        "deployments",
        (Each::Workspace, "deployments t where t.workspace_id = ?"),
        keys!["t.id"],
        columns![
            id Kind::Id, pattern_id Kind::Was(Of::Pattern), slot Kind::Slot, pattern_name NAME, user_id Kind::Owner,
            workspace_id Kind::Workspace, environment_id Kind::Was(Of::Environment),
            status Kind::Name(is_deployment_status), version_number Kind::Int, artifact Kind::Module, triggers JSON,
            error_message Kind::Text(LONG, true), confirmed_at Kind::Int, created_at Kind::Int, updated_at Kind::Int,
            strikes Kind::Size, suspended Kind::Bool
        ],
    ),
    part(
        "past_environments",
        "past_environments",
        (Each::Deployment, "past_environments t where t.deployment_id = ?"),
        keys!["t.until" @ number],
        columns![
            deployment_id Kind::Within(Of::Deployment), until Kind::Int, environment_id Kind::Was(Of::Environment)
        ],
    ),
    part(
        SCHEDULES,
        "schedules",
        (Each::Deployment, "schedules t where t.deployment_id = ?"),
        keys!["t.id"],
        columns![
            id Kind::Id, deployment_id Kind::Within(Of::Deployment), node_id NAME, cron NAME, timezone NAME, catch_up NAME,
            set_cron MAYBE, set_timezone MAYBE, next_due_at Kind::MaybeInt, held_due_at Kind::MaybeInt
        ],
    ),
    part(
        "polls",
        "polls",
        (
            Each::Deployment,
            "schedules s join polls t on t.schedule_id = s.id where s.deployment_id = ?",
        ),
        keys!["t.schedule_id"],
        columns![
            schedule_id Kind::Within(Of::Schedule), source NAME, cursor MAYBE, seen Kind::Text(LONG, false),
            pending Kind::Text(LONG, true), polled_at Kind::MaybeInt, things Kind::Size, failures Kind::Size,
            error_code MAYBE, error MAYBE, connected_since Kind::MaybeInt, last_new_at Kind::MaybeInt, version Kind::Size
        ],
    ),
    // Not what services know: they go on to send to where they send.
    sealed(
        part(
            SUBSCRIPTIONS,
            "subscriptions",
            (
                Each::Deployment,
                "webhook_endpoints e join subscriptions t on t.endpoint_id = e.id where t.is_wanted and t.deployment_id = ?",
            ),
            keys!["t.endpoint_id"],
            columns![
                endpoint_id Kind::Within(Of::Webhook), deployment_id Kind::Within(Of::Deployment), node_id NAME,
                workspace_id Kind::Workspace, service NAME, is_wanted Kind::Bool, fingerprint NAME, failures Kind::Size,
                due_at Kind::MaybeInt, version Kind::Size
            ],
        ),
        Sealed::Subscription,
    ),
    part(
        RUNS,
        "runs",
        (Each::Deployment, "runs t where t.deployment_id = ?"),
        keys!["t.accepted_at" @ number, "t.id"],
        columns![
            id Kind::Id, deployment_id Kind::Within(Of::Deployment), status Kind::Name(is_run_status),
            phase Kind::Name(is_phase), triggered_by Kind::Name(is_trigger), node_id MAYBE, event MAYBE_JSON,
            artifact Kind::Module, version_number Kind::Int, attempt Kind::Int, takeovers Kind::Size,
            accepted_at Kind::Int, resumes_at Kind::MaybeInt, started_at Kind::MaybeInt, completed_at Kind::MaybeInt,
            duration_ms Kind::MaybeInt, output MAYBE_JSON, error MAYBE_JSON, logs MAYBE_JSON, trace MAYBE_JSON,
            fuel_used Kind::MaybeInt, memory_bytes_peak Kind::MaybeInt, wake_at Kind::MaybeInt, woken Kind::Bool,
            parent_id Kind::Past, parent_key MAYBE, depth Kind::Size, awaited Kind::Bool, failed_input MAYBE_JSON,
            continued_at Kind::MaybeInt, total_fuel Kind::MaybeInt, total_memory_kib_ms Kind::MaybeInt,
            total_effects Kind::MaybeInt, total_egress_bytes Kind::MaybeInt
        ],
    ),
    part(
        JOURNALS,
        "run_journals",
        (
            Each::Deployment,
            "runs r join run_journals t on t.run_id = r.id where r.deployment_id = ?",
        ),
        keys!["r.accepted_at" @ number, "t.run_id"],
        columns![
            run_id Kind::Within(Of::Run), tenant_id Kind::Workspace, has_failed Kind::Bool, ended_at Kind::Int,
            bytes Kind::Size, is_kept Kind::Bool
        ],
    ),
    moved(part(
        "journal_entries",
        "journal_entries",
        (
            Each::Deployment,
            "runs r join journal_entries t on t.run_id = r.id where r.deployment_id = ?",
        ),
        keys!["r.accepted_at" @ number, "t.run_id", "t.key"],
        columns![run_id Kind::Within(Of::Run), key Kind::Text(LONG, false), number Kind::MaybeInt, entry Kind::Entry],
    )),
    moved(part(
        "signals",
        "signals",
        (
            Each::Deployment,
            "runs r join signals t on t.run_id = r.id where r.deployment_id = ?",
        ),
        keys!["r.accepted_at" @ number, "t.run_id", "t.key"],
        columns![run_id Kind::Within(Of::Run), key Kind::Text(LONG, false), payload Kind::Entry],
    )),
    part(
        "keys_of_webhooks",
        "idempotency_keys",
        (
            Each::Pattern,
            "webhook_endpoints e join idempotency_keys t on t.scope = e.id where e.pattern_id = ?",
        ),
        keys!["t.scope", "t.key"],
        KEYS_OF_WEBHOOKS,
    ),
    part(
        "keys_of_mailboxes",
        "idempotency_keys",
        (
            Each::Pattern,
            "email_endpoints e join idempotency_keys t on t.scope = e.id where e.pattern_id = ?",
        ),
        keys!["t.scope", "t.key"],
        KEYS_OF_MAILBOXES,
    ),
    part(
        "keys_of_schedules",
        "idempotency_keys",
        (
            Each::Deployment,
            "schedules s join idempotency_keys t on t.scope = s.id where s.deployment_id = ?",
        ),
        keys!["t.scope", "t.key"],
        KEYS_OF_SCHEDULES,
    ),
    part(
        "keys_of_runs",
        "idempotency_keys",
        (
            Each::Deployment,
            "runs r join idempotency_keys t on t.scope = r.id where r.deployment_id = ?",
        ),
        keys!["r.accepted_at" @ number, "t.scope", "t.key"],
        KEYS_OF_RUNS,
    ),
    part(
        "values_of_workspace",
        "key_values",
        (Each::Workspace, "key_values t where t.workspace_id = ?"),
        keys!["t.key"],
        columns![
            scope Kind::ScopeOfWorkspace, key NAME, value JSON, expires_at Kind::MaybeInt, workspace_id Kind::Workspace,
            owner_id Kind::Owner
        ],
    ),
    part(
        "values_of_patterns",
        "key_values",
        (Each::Pattern, "key_values t where t.pattern_id = ?"),
        // Each of a pattern's deployments may have the same keys.
        keys!["t.scope", "t.key"],
        columns![
            scope Kind::ScopeOfPattern, key NAME, value JSON, expires_at Kind::MaybeInt,
            pattern_id Kind::Within(Of::Pattern), owner_id Kind::Owner
        ],
    ),
    moved(part(
        "usage_hours",
        "usage_hours",
        (Each::Workspace, "usage_hours t where t.tenant_id = ?"),
        keys!["t.hour" @ number, "t.counter"],
        columns![
            tenant_id Kind::Workspace, hour Kind::Int, counter NAME, runs Kind::Size, failed_runs Kind::Size,
            fuel Kind::Size, memory_kib_ms Kind::Size, effects Kind::Size, egress_bytes Kind::Size
        ],
    )),
    moved(part(
        "test_usage_hours",
        "test_usage_hours",
        (Each::Workspace, "test_usage_hours t where t.tenant_id = ?"),
        keys!["t.hour" @ number],
        columns![
            tenant_id Kind::Workspace, hour Kind::Int, runs Kind::Size, fuel Kind::Size, memory_kib_ms Kind::Size,
            effects Kind::Size, egress_bytes Kind::Size
        ],
    )),
    moved(part(
        "storage_hours",
        "storage_hours",
        (Each::Workspace, "storage_hours t where t.tenant_id = ?"),
        keys!["t.hour" @ number],
        columns![tenant_id Kind::Workspace, hour Kind::Int, bytes Kind::Size],
    )),
    moved(part(
        "quota_warnings",
        "quota_warnings",
        (Each::Workspace, "quota_warnings t where t.workspace_id = ?"),
        keys!["t.quota", "t.month" @ number],
        columns![workspace_id Kind::Workspace, quota NAME, month Kind::Int, warned_at Kind::Int],
    )),
    part(
        "audit_entries",
        "audit_entries",
        (Each::Workspace, "audit_entries t where t.workspace_id = ?"),
        keys!["t.at" @ number, "t.id"],
        columns![
            id Kind::Id, workspace_id Kind::Workspace, at Kind::Int, action NAME, outcome Kind::Name(is_outcome),
            actor_id Kind::Author, actor_email MAYBE, actor_name MAYBE, api_key_id Kind::Past, api_key_name MAYBE,
            address MAYBE, object_kind NAME, object_id Kind::PastOrUser, object_name MAYBE, object_within MAYBE, details JSON
        ],
    ),
    part(
        "invitations",
        "invitations",
        (Each::Workspace, "invitations t where t.workspace_id = ?"),
        keys!["t.id"],
        columns![
            id Kind::Id, workspace_id Kind::Workspace, email NAME, email_key NAME, role Kind::Name(is_role),
            invited_by Kind::Owner, created_at Kind::Int, expires_at Kind::Int
        ],
    ),
];
