//! How much one workspace may use. The operator sets it for each; what is set for none is as the settings say. One table
//! serves settings, checks, messages and the HTTP interface.

use crate::clock::Timestamp;
use crate::usage::month_of;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// When what counts toward a quota is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// Never: it counts what is there.
    None,
    /// With each minute of the clock.
    Minute,
    /// With each month, in UTC.
    Month,
    /// With each run: it is what one may have.
    Run,
}

macro_rules! quotas {
    ($($(#[$doc:meta])* $variant:ident = $name:literal $setting:literal $period:ident $noun:literal $advice:literal,)*) => {
        /// A limited resource of a workspace.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum WorkspaceQuota { $($(#[$doc])* $variant),* }

        impl WorkspaceQuota {
            /// All variants, in the order of declaration.
            pub const ALL: &'static [WorkspaceQuota] = &[$(WorkspaceQuota::$variant),*];

            /// Its name, its setting, its period, what it limits, and what to do about it.
            const fn facts(self) -> (&'static str, &'static str, Period, &'static str, &'static str) {
                match self {
                    $(WorkspaceQuota::$variant => ($name, $setting, Period::$period, $noun, $advice)),*
                }
            }
        }
    };
}

quotas! {
    /// Runs that execute at a time; more wait.
    RunsAtOnce = "runsAtOnce" "workspace_concurrency" None "runs at once" "more wait until others have ended",
    /// Runs that are accepted in a month.
    RunsPerMonth = "runsPerMonth" "workspace_runs_per_month" Month "runs per month" "wait for the next month",
    /// Fuel of a month's runs.
    FuelPerMonth = "fuelPerMonth" "workspace_fuel_per_month" Month "fuel per month" "wait for the next month",
    /// Bytes that a month's runs send.
    EgressBytesPerMonth = "egressBytesPerMonth" "workspace_egress_per_month" Month "bytes sent per month"
        "wait for the next month",
    /// Events of webhooks that start runs in a minute.
    WebhooksPerMinute = "webhooksPerMinute" "workspace_webhooks_per_minute" Minute "webhook events per minute"
        "send fewer at once",
    /// Patterns.
    Patterns = "patterns" "workspace_patterns" None "patterns" "delete some",
    /// Runs that wait for a time or a callback.
    WaitingRuns = "waitingRuns" "workspace_waiting_runs" None "waiting runs" "cancel some, or have patterns wait for less time",
    /// Values that KeyValue keeps.
    KeyValues = "keyValues" "workspace_key_values" None "values kept by KeyValue" "delete some, or give them a `ttlMs`",
    /// Memory that one run may have, in MiB.
    MemoryMbPerRun = "memoryMbPerRun" "workspace_memory_mb_per_run" Run "MiB of memory per run"
        "lower `memoryMb` in the pattern's settings",
    /// What one run may compute.
    ComputeSecondsPerRun = "computeSecondsPerRun" "workspace_compute_seconds_per_run" Run "compute seconds per run"
        "lower `computeSeconds` in the pattern's settings",
    /// Effects that one run may start.
    EffectsPerRun = "effectsPerRun" "workspace_effects_per_run" Run "effects per run"
        "lower `maxEffects` in the pattern's settings",
    /// Bytes of all that is stored.
    StorageBytes = "storageBytes" "workspace_storage" None "bytes of storage" "delete runs, patterns or kept values",
}

impl WorkspaceQuota {
    /// Its name in the HTTP interface.
    pub const fn name(self) -> &'static str {
        self.facts().0
    }

    /// The setting of its default.
    pub const fn setting(self) -> &'static str {
        self.facts().1
    }

    /// When what counts is forgotten.
    pub const fn period(self) -> Period {
        self.facts().2
    }

    /// What it limits, for people.
    pub const fn noun(self) -> &'static str {
        self.facts().3
    }

    /// Whether it counts bytes.
    pub const fn is_of_bytes(self) -> bool {
        matches!(
            self,
            WorkspaceQuota::EgressBytesPerMonth | WorkspaceQuota::StorageBytes
        )
    }

    /// The least that it can be.
    pub const fn least(self) -> i64 {
        match self {
            WorkspaceQuota::RunsAtOnce
            | WorkspaceQuota::ComputeSecondsPerRun
            | WorkspaceQuota::EffectsPerRun => 1,
            // As patterns' own setting.
            WorkspaceQuota::MemoryMbPerRun => 16,
            _ => 0,
        }
    }

    /// The quota with this name.
    pub fn named(name: &str) -> Option<Self> {
        WorkspaceQuota::ALL
            .iter()
            .copied()
            .find(|quota| quota.name() == name)
    }
}

/// Limits of a workspace, or their defaults: of each quota, as far as it has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkspaceQuotas([Option<i64>; WorkspaceQuota::ALL.len()]);

impl WorkspaceQuotas {
    /// The limit; `None`: no limit, or what the settings say.
    pub fn limit(&self, quota: WorkspaceQuota) -> Option<i64> {
        self.0.get(quota as usize).copied().flatten()
    }

    /// Sets the limit.
    pub fn set(&mut self, quota: WorkspaceQuota, limit: Option<i64>) {
        if let Some(kept) = self.0.get_mut(quota as usize) {
            *kept = limit;
        }
    }

    /// These limits, and where there is none the default.
    pub fn or(&self, defaults: &WorkspaceQuotas) -> WorkspaceQuotas {
        let mut limits = *self;
        for (limit, default) in limits.0.iter_mut().zip(defaults.0) {
            *limit = limit.or(default);
        }
        limits
    }
}

impl Serialize for WorkspaceQuotas {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let given = WorkspaceQuota::ALL
            .iter()
            .filter_map(|quota| Some((quota.name(), self.limit(*quota)?)));
        serializer.collect_map(given)
    }
}

impl<'de> Deserialize<'de> for WorkspaceQuotas {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given: BTreeMap<String, i64> = BTreeMap::deserialize(deserializer)?;
        let mut limits = WorkspaceQuotas::default();
        for (name, limit) in given {
            let quota = WorkspaceQuota::named(&name);
            let quota = quota.ok_or_else(|| D::Error::custom(format!("unknown field `{name}`")))?;
            limits.set(quota, Some(limit));
        }
        Ok(limits)
    }
}

/// A workspace has used all that it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct WorkspaceExceeded {
    pub quota: WorkspaceQuota,
    pub limit: i64,
    /// When there is room again by itself; `None`: when something is removed.
    pub until: Option<Timestamp>,
}

impl WorkspaceExceeded {
    /// That a workspace's quota is used up at this time.
    pub fn at(quota: WorkspaceQuota, limit: i64, now: Timestamp) -> Self {
        const MINUTE_MS: i64 = 60_000;
        let until = match quota.period() {
            Period::None | Period::Run => None,
            Period::Minute => {
                let minute = now.millis().div_euclid(MINUTE_MS).saturating_add(1);
                Some(Timestamp::from_millis(minute.saturating_mul(MINUTE_MS)))
            }
            Period::Month => Some(month_of(now).1),
        };
        WorkspaceExceeded { quota, limit, until }
    }
}

impl std::fmt::Display for WorkspaceExceeded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, _, _, noun, advice) = self.quota.facts();
        write!(
            f,
            "The workspace has reached its limit of {} {noun} ({name}): {advice}, or ask the operator of the service \
             to raise it.",
            self.limit
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_workspace_has_of_its_own_goes_before_the_default() {
        let mut defaults = WorkspaceQuotas::default();
        defaults.set(WorkspaceQuota::Patterns, Some(5));
        defaults.set(WorkspaceQuota::RunsPerMonth, Some(7));
        let own: WorkspaceQuotas = serde_json::from_str(r#"{"patterns": 9}"#).unwrap();
        let limits = own.or(&defaults);
        assert_eq!(limits.limit(WorkspaceQuota::Patterns), Some(9));
        assert_eq!(limits.limit(WorkspaceQuota::RunsPerMonth), Some(7));
        assert_eq!(limits.limit(WorkspaceQuota::KeyValues), None);
        assert_eq!(serde_json::to_string(&own).unwrap(), r#"{"patterns":9}"#);
        assert!(serde_json::from_str::<WorkspaceQuotas>(r#"{"pattern": 9}"#).is_err());
    }

    #[test]
    fn what_is_refused_says_which_quota_and_until_when() {
        let now = Timestamp::parse("2026-11-23T19:15:30Z").unwrap();
        let exceeded = WorkspaceExceeded::at(WorkspaceQuota::RunsPerMonth, 10, now);
        assert_eq!(exceeded.until, Timestamp::parse("2026-12-01T00:00:00Z"));
        let message = exceeded.to_string();
        assert!(message.contains("10 runs per month (runsPerMonth)"), "{message}");
        let exceeded = WorkspaceExceeded::at(WorkspaceQuota::WebhooksPerMinute, 1, now);
        assert_eq!(exceeded.until, Timestamp::parse("2026-11-23T19:16:00Z"));
        assert_eq!(
            WorkspaceExceeded::at(WorkspaceQuota::Patterns, 1, now).until,
            None
        );
    }
}
