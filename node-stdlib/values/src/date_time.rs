//! Luxon's `DateTime` and `Duration`, and JavaScript's `Date`, as values.
//!
//! Source: Luxon 3.7's documentation and behaviour (`moment.github.io/luxon`), ECMAScript 2025 section 21.4, and for
//! texts for people the Unicode CLDR's English. Times are milliseconds since 1970, as numbers. Knows nothing of the
//! run: what now is and which zone is local comes with each call as a [`Clock`].

mod arguments;
mod calls;
mod civil;
mod clock;
mod construct;
mod date;
mod date_calls;
mod difference;
mod digits;
mod duration;
mod format;
mod getters;
mod invalid;
mod locale;
mod locale_options;
mod names;
mod options;
mod read;
mod read_date;
mod read_duration;
mod read_tokens;
mod scan;
mod temporal;
mod texts;
mod tokens;
mod unit;
mod write;
mod zone;
mod zoned;

pub use calls::{call_method, has_method};
pub use civil::{date_of_day, day_of_date, days_in_month};
pub use clock::Clock;
pub use construct::call_static;
pub use date::Date;
pub use difference::difference;
pub use duration::Duration;
pub use getters::get;
pub use invalid::Invalid;
pub use locale::{Wanted, preset};
pub use locale_options::for_people;
pub use temporal::Temporal;
pub use texts::{Misread, read_by_format, read_text, unknown_token};
pub use unit::Unit;
pub use zone::{Zone, zone_name};
pub use zoned::{DateTime, Zoned};
