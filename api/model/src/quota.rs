//! How much one user may create and store. One table serves settings, checks and messages; what is counted, and how, is
//! in the store.

macro_rules! quotas {
    ($($(#[$doc:meta])* $variant:ident = $setting:literal $default:literal $noun:literal $advice:literal,)*) => {
        /// A limited resource.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Quota { $($(#[$doc])* $variant),* }

        impl Quota {
            /// All variants, in the order of declaration.
            pub const ALL: &'static [Quota] = &[$(Quota::$variant),*];

            /// The setting, its default, what it limits, and what to do about it.
            const fn facts(self) -> (&'static str, u64, &'static str, &'static str) {
                match self { $(Quota::$variant => ($setting, $default, $noun, $advice)),* }
            }
        }
    };
}

quotas! {
    /// Workspaces that a user has made.
    Workspaces = "quota_workspaces" 100 "workspaces per user" "delete one that is no longer needed",
    /// Environments of all workspaces that a user has made.
    Environments = "quota_environments" 500 "environments in one user's workspaces"
        "delete one that is no longer needed",
    /// Members of and invitations to all workspaces that a user has made.
    Members = "quota_members" 5_000 "members and invitations in one user's workspaces"
        "remove some",
    /// Patterns that a user has made.
    Patterns = "quota_patterns" 10_000 "patterns per user" "delete some",
    /// Bytes of all versions of the patterns that a user has made, of their tests, and of the user's drafts.
    PatternBytes = "quota_pattern_bytes" 1_073_741_824 "bytes for all versions and tests of one user's patterns and for drafts"
        "delete patterns that have a long history (a clone starts without one)",
    /// Versions of a pattern.
    Versions = "quota_versions" 100_000 "versions per pattern" "clone the pattern and continue with the clone",
    /// Webhooks and mail addresses of a pattern, also of nodes that it no longer has.
    Endpoints = "quota_endpoints" 1_000 "webhooks and email addresses over the life of a pattern"
        "clone the pattern and continue with the clone",
    /// Secrets in the workspaces that a user has made.
    Secrets = "quota_secrets" 5_000 "secrets in one user's workspaces" "delete some",
    /// Bytes of these secrets.
    SecretBytes = "quota_secret_bytes" 67_108_864 "bytes for the secrets in one user's workspaces"
        "delete some",
    /// Connections that a user has made.
    Connections = "quota_connections" 1_000 "connections per user" "delete some",
    /// Bytes of the credentials of these connections.
    ConnectionBytes = "quota_connection_bytes" 67_108_864 "bytes for the credentials of one user's connections"
        "delete some",
    /// API keys of a user.
    ApiKeys = "quota_api_keys" 200 "API keys per user" "delete some that are no longer used",
    /// Bytes of the modules of a user's deployments, and of all that are kept of what was deployed in the workspaces that the user
    /// has made.
    ModuleBytes = "quota_module_bytes" 4_294_967_296
        "bytes for the modules of one user's deployments and for those that were replaced lately"
        "delete deployments, make components smaller, or wait until replaced modules are removed",
    /// Schedules of a user's deployments.
    Schedules = "quota_schedules" 2_000 "schedules in one user's deployments" "delete deployments",
    /// Bytes of the files in the workspaces that a user has made, each content once.
    FileBytes = "quota_file_bytes" 21_474_836_480 "bytes for files in one user's workspaces"
        "delete some, or have runs keep them for less time",
    /// Files in these workspaces, however small.
    Files = "quota_files" 1_000_000 "files in one user's workspaces"
        "delete some, or have runs keep them for less time",
    /// Values that KeyValue keeps in the workspaces that a user owns.
    KeyValues = "quota_key_values" 1_000_000 "values kept by KeyValue in one user's workspaces"
        "delete some, or give them a `ttlMs`",
    /// Bytes of these values and their keys.
    KeyValueBytes = "quota_key_value_bytes" 1_073_741_824 "bytes for values kept by KeyValue in one user's workspaces"
        "delete some, or give them a `ttlMs`",
    /// Runs that wait in the workspaces that a user owns.
    WaitingRuns = "quota_waiting_runs" 100_000 "waiting runs in one user's workspaces"
        "cancel some, or have patterns wait for less time",
    /// Bytes of the events of these runs, and of what is kept of their effects.
    WaitingRunBytes = "quota_waiting_run_bytes" 10_737_418_240
        "bytes for the events and results of waiting runs in one user's workspaces"
        "cancel some, have patterns wait for less time, or keep what is large in files",
}

impl Quota {
    pub const fn setting(self) -> &'static str {
        self.facts().0
    }

    /// Whether it counts bytes.
    pub const fn is_of_bytes(self) -> bool {
        matches!(
            self,
            Quota::PatternBytes
                | Quota::SecretBytes
                | Quota::ConnectionBytes
                | Quota::ModuleBytes
                | Quota::FileBytes
                | Quota::KeyValueBytes
                | Quota::WaitingRunBytes
        )
    }
}

/// The quotas of this service.
#[derive(Clone, Copy, Debug)]
pub struct Quotas([u64; Quota::ALL.len()]);

impl Default for Quotas {
    fn default() -> Self {
        let mut limits = [0; Quota::ALL.len()];
        for (limit, quota) in limits.iter_mut().zip(Quota::ALL) {
            *limit = quota.facts().1;
        }
        Quotas(limits)
    }
}

impl Quotas {
    /// The limit; `None`: no limit.
    pub fn limit(&self, quota: Quota) -> Option<i64> {
        let limit = self.0.get(quota as usize).copied().unwrap_or_default();
        (limit > 0).then(|| i64::try_from(limit).unwrap_or(i64::MAX))
    }

    /// Checks that a count is within the quota.
    pub fn allows(&self, quota: Quota, count: usize) -> Result<(), Exceeded> {
        match self.limit(quota) {
            Some(limit) if i64::try_from(count).unwrap_or(i64::MAX) > limit => Err(Exceeded { quota, limit }),
            _ => Ok(()),
        }
    }

    /// Sets the limit; 0: no limit.
    pub fn set(&mut self, quota: Quota, limit: u64) {
        if let Some(kept) = self.0.get_mut(quota as usize) {
            *kept = limit;
        }
    }
}

/// How much each may have if all of them together may have no more than `max`, and what is small is not cut for what is large.
/// `None`: they have no more.
pub fn common_share(sizes: &[i64], max: i64) -> Option<i64> {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    let (mut left, mut count) = (max, i64::try_from(sizes.len()).unwrap_or(i64::MAX));
    for size in sizes {
        let share = left / count;
        if size > share {
            return Some(share);
        }
        left -= size;
        count -= 1;
    }
    None
}

/// A limit would be exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Exceeded {
    pub quota: Quota,
    pub limit: i64,
}

impl std::fmt::Display for Exceeded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (setting, _, noun, advice) = self.quota.facts();
        write!(
            f,
            "This would exceed the limit of {} {noun} ({setting}): {advice}, or ask the operator of the \
             service to raise it.",
            self.limit
        )
    }
}

#[cfg(test)]
mod tests {
    use super::common_share;

    #[test]
    fn what_is_small_is_not_cut_for_what_is_large() {
        assert_eq!(common_share(&[], 10), None);
        assert_eq!(common_share(&[4, 1, 5], 10), None);
        assert_eq!(common_share(&[4, 1, 6], 10), Some(5));
        assert_eq!(common_share(&[9, 9, 9], 10), Some(3));
        assert_eq!(common_share(&[1, 100, 2, 100], 20), Some(8));
        assert_eq!(common_share(&[7], 0), Some(0));
        for (sizes, max) in [([3, 8, 1, 20], 25), ([5, 5, 5, 5], 19), ([0, 0, 1, 2], 2)] {
            let share = common_share(&sizes, max).unwrap_or(i64::MAX);
            let kept: i64 = sizes.iter().map(|size| share.min(*size)).sum();
            assert!(kept <= max, "{sizes:?} of {max}: {share}");
        }
    }
}
