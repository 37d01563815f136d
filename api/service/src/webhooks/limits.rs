//! How many requests webhooks are sent: by address, by webhook as its node says, and by tenant. Servers that share the
//! limits tell each other their counts.

use crate::rate_limit::{LimitKey, RateLimiter};
use heddle_model::clock::Timestamp;
use heddle_model::error::ServiceError;
use heddle_model::ids::{EndpointId, UserId, WorkspaceId};
use heddle_model::tenant::Tenant;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// What one minute may have.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Requests of one address; 0: any number.
    pub requests_per_minute: u32,
    pub counted_by: CountedBy,
    /// Requests to all webhooks of a tenant; 0: any number.
    pub tenant_requests_per_minute: u32,
}

/// What the requests of an address are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedBy {
    /// All webhooks together.
    Address,
    /// Each webhook for itself, since large services send everybody's events from the same addresses.
    Webhook,
}

/// Counts of what was let through.
pub struct Limits {
    counted_by: CountedBy,
    by_address: RateLimiter<IpAddr>,
    by_endpoint_and_address: RateLimiter<(EndpointId, IpAddr)>,
    by_endpoint: RateLimiter<EndpointId>,
    by_tenant: RateLimiter<Tenant>,
}

/// What a server has let through, for the others; each list fits into a message.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Counts {
    /// By address.
    Addresses(Vec<(IpAddr, usize)>),
    /// By webhook and address.
    Endpoints(Vec<(EndpointId, Option<IpAddr>, usize)>),
    /// By tenant: the id of a workspace, or of a user outside of workspaces.
    Tenants(Vec<(Option<WorkspaceId>, Option<UserId>, usize)>),
}

/// Addresses in a message, of 60 bytes at most.
const ADDRESSES_MAX: usize = 100;
/// Webhooks with addresses in a message, of 100 bytes at most, and tenants.
const IDS_MAX: usize = 70;

impl Limits {
    pub(super) fn new(settings: Settings, is_shared: bool) -> Self {
        let per_address = settings.requests_per_minute;
        Limits {
            counted_by: settings.counted_by,
            by_address: RateLimiter::new(per_address).shared_if(is_shared),
            by_endpoint_and_address: RateLimiter::new(per_address).shared_if(is_shared),
            by_endpoint: RateLimiter::new(u32::MAX).shared_if(is_shared),
            by_tenant: RateLimiter::new(settings.tenant_requests_per_minute).shared_if(is_shared),
        }
    }

    /// Counts a request of an address to a webhook, or to none that exists, unless there are too many.
    pub fn check_address(
        &self,
        endpoint: Option<EndpointId>,
        address: LimitKey,
        now: Timestamp,
    ) -> Result<(), ServiceError> {
        let address = address.address();
        match (self.counted_by, endpoint) {
            (CountedBy::Webhook, Some(endpoint)) => {
                self.by_endpoint_and_address.check(&(endpoint, address), now)
            }
            _ => self.by_address.check(&address, now),
        }
    }

    /// Counts a request to a webhook that has a limit of its own (0: none), unless there are too many.
    pub fn check_endpoint(
        &self,
        per_minute: u32,
        endpoint: EndpointId,
        now: Timestamp,
    ) -> Result<(), ServiceError> {
        let per_minute = usize::try_from(per_minute).unwrap_or(usize::MAX);
        self.by_endpoint.check_up_to(per_minute, &endpoint, now)
    }

    /// Counts a request to a webhook of a tenant, unless there are too many.
    pub fn check_tenant(&self, tenant: Tenant, now: Timestamp) -> Result<(), ServiceError> {
        self.by_tenant.check(&tenant, now)
    }

    /// What was let through since this was asked last, in messages.
    pub(crate) fn take_untold(&self) -> Vec<Counts> {
        let addresses = self.by_address.take_untold();
        let pairs = self.by_endpoint_and_address.take_untold();
        let pairs = pairs
            .into_iter()
            .map(|((endpoint, address), count)| (endpoint, Some(address), count));
        let endpoints = self.by_endpoint.take_untold();
        let endpoints = endpoints
            .into_iter()
            .map(|(endpoint, count)| (endpoint, None, count));
        let endpoints: Vec<_> = pairs.chain(endpoints).collect();
        let tenants = self.by_tenant.take_untold().into_iter();
        let tenants: Vec<_> = tenants
            .map(|(tenant, count)| match tenant {
                Tenant::Workspace(workspace) => (Some(workspace), None, count),
                Tenant::User(user) => (None, Some(user), count),
            })
            .collect();
        let addresses = addresses
            .chunks(ADDRESSES_MAX)
            .map(|some| Counts::Addresses(some.to_vec()));
        let endpoints = endpoints
            .chunks(IDS_MAX)
            .map(|some| Counts::Endpoints(some.to_vec()));
        let tenants = tenants.chunks(IDS_MAX).map(|some| Counts::Tenants(some.to_vec()));
        addresses.chain(endpoints).chain(tenants).collect()
    }

    /// Counts what another server has let through.
    pub(crate) fn count(&self, counts: Counts, now: Timestamp) {
        match counts {
            Counts::Addresses(counts) => {
                for (address, count) in counts {
                    self.by_address.count(&address, count, now);
                }
            }
            Counts::Endpoints(counts) => {
                for (endpoint, address, count) in counts {
                    match address {
                        Some(address) => self
                            .by_endpoint_and_address
                            .count(&(endpoint, address), count, now),
                        None => self.by_endpoint.count(&endpoint, count.min(COUNTED_MAX), now),
                    }
                }
            }
            Counts::Tenants(counts) => {
                for (workspace, user, count) in counts {
                    let tenant = workspace.map(Tenant::Workspace).or(user.map(Tenant::User));
                    if let Some(tenant) = tenant {
                        self.by_tenant.count(&tenant, count, now);
                    }
                }
            }
        }
    }
}

/// Requests of a minute that are counted for a webhook at most: the largest limit that a node can have.
const COUNTED_MAX: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(counted_by: CountedBy) -> Limits {
        let settings = Settings {
            requests_per_minute: 2,
            counted_by,
            tenant_requests_per_minute: 2,
        };
        Limits::new(settings, true)
    }

    #[test]
    fn an_address_is_counted_over_all_webhooks_or_for_each() {
        let address = LimitKey::of("192.0.2.7".parse().unwrap());
        let now = Timestamp::from_millis(0);
        for (counted_by, third_is_let_in) in [(CountedBy::Address, false), (CountedBy::Webhook, true)] {
            let limits = limits(counted_by);
            let (one, other) = (EndpointId::new(), EndpointId::new());
            assert!(limits.check_address(Some(one), address, now).is_ok());
            assert!(limits.check_address(Some(one), address, now).is_ok());
            assert!(limits.check_address(Some(one), address, now).is_err());
            assert_eq!(
                limits.check_address(Some(other), address, now).is_ok(),
                third_is_let_in
            );
        }
        // Addresses that don't exist are guesses, of which there is one count.
        let limits = limits(CountedBy::Webhook);
        assert!(limits.check_address(None, address, now).is_ok());
        assert!(limits.check_address(None, address, now).is_ok());
        assert!(limits.check_address(None, address, now).is_err());
    }

    #[test]
    fn servers_count_each_others_requests() {
        let now = Timestamp::from_millis(0);
        let address = LimitKey::of("192.0.2.7".parse().unwrap());
        let (endpoint, tenant) = (EndpointId::new(), Tenant::User(UserId::new()));
        for counted_by in [CountedBy::Address, CountedBy::Webhook] {
            let (one, other) = (limits(counted_by), limits(counted_by));
            for _ in 0..2 {
                one.check_address(Some(endpoint), address, now).unwrap();
                one.check_endpoint(2, endpoint, now).unwrap();
                one.check_tenant(tenant, now).unwrap();
            }
            for counts in one.take_untold() {
                let told = serde_json::to_string(&counts).unwrap();
                other.count(serde_json::from_str(&told).unwrap(), now);
            }
            assert!(one.take_untold().is_empty());
            assert!(other.check_address(Some(endpoint), address, now).is_err());
            assert!(other.check_endpoint(2, endpoint, now).is_err());
            assert!(other.check_endpoint(3, endpoint, now).is_ok());
            assert!(other.check_tenant(tenant, now).is_err());
        }
    }

    #[test]
    fn messages_are_not_too_long() {
        let limits = limits(CountedBy::Webhook);
        let now = Timestamp::from_millis(0);
        let address = LimitKey::of("2001:db8:1234:5678::1".parse().unwrap());
        for _ in 0..200 {
            let endpoint = EndpointId::new();
            limits.check_address(Some(endpoint), address, now).unwrap();
            limits.check_tenant(Tenant::User(UserId::new()), now).unwrap();
        }
        for counts in limits.take_untold() {
            assert!(serde_json::to_string(&counts).unwrap().len() < 7_800);
        }
    }
}
