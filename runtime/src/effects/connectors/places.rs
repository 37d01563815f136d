//! Limits the number of connector processes; one tenant may use at most half of them.

use heddle_sandbox::{EffectCode, EffectError};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Tenants remembered; past it those that hold no place are forgotten.
const TENANTS_MAX: usize = 1_000;

/// All places.
pub struct Places {
    all: Arc<Semaphore>,
    tenant_max: usize,
    tenants: Mutex<HashMap<String, Arc<Semaphore>>>,
    /// How many wait for one.
    waiting: AtomicUsize,
}

/// A place, until it is dropped.
pub struct Place {
    pub tenant: String,
    _of_tenant: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Places {
    pub fn new(places: usize) -> Self {
        let places = places.clamp(1, Semaphore::MAX_PERMITS);
        Places {
            all: Arc::new(Semaphore::new(places)),
            tenant_max: places.div_ceil(2),
            tenants: Mutex::default(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Whether somebody waits for a place.
    pub fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// A place for this tenant. Where there is none, `close_idle` is told to make one: of this tenant, or of any.
    pub async fn take(
        &self,
        tenant: &str,
        close_idle: impl Fn(Option<&str>) -> bool,
    ) -> Result<Place, EffectError> {
        let of_tenant = self.of(tenant);
        Ok(Place {
            _of_tenant: self.permit(of_tenant, || close_idle(Some(tenant))).await?,
            _of_all: self.permit(self.all.clone(), || close_idle(None)).await?,
            tenant: tenant.to_owned(),
        })
    }

    async fn permit(
        &self,
        places: Arc<Semaphore>,
        close_idle: impl Fn() -> bool,
    ) -> Result<OwnedSemaphorePermit, EffectError> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&self.waiting);
        if let Ok(permit) = places.clone().try_acquire_owned() {
            return Ok(permit);
        }
        close_idle();
        let closed = |_| {
            EffectError::new(
                EffectCode::Internal,
                "The service is shutting down its connector processes.",
            )
        };
        places.acquire_owned().await.map_err(closed)
    }

    fn of(&self, tenant: &str) -> Arc<Semaphore> {
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        if tenants.len() >= TENANTS_MAX && !tenants.contains_key(tenant) {
            tenants.retain(|_, places| places.available_permits() < self.tenant_max);
        }
        let made = || Arc::new(Semaphore::new(self.tenant_max));
        tenants.entry(tenant.to_owned()).or_insert_with(made).clone()
    }
}
