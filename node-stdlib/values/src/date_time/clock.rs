//! What now is.

use super::unit::Unit;
use super::zone::Zone;
use super::zoned::Zoned;
use crate::Value;

/// What now is, and where.
#[derive(Clone, Debug)]
pub struct Clock {
    /// Milliseconds since 1970.
    pub now_ms: f64,
    /// The zone of date-times that name none.
    pub zone: Zone,
}

impl Clock {
    /// UTC at a time.
    pub fn utc(now_ms: f64) -> Self {
        let zone = Zone::UTC;
        Clock { now_ms, zone }
    }

    /// `$now`
    pub fn now(&self) -> Value {
        Zoned::new(self.now_ms, self.zone.clone()).into()
    }

    /// `$today`: the day's beginning.
    pub fn today(&self) -> Value {
        let now = Zoned::new(self.now_ms, self.zone.clone());
        now.and_then(|now| now.start_of(Unit::Days)).into()
    }
}
