//! What graphs mean, on plans built by hand and executed by a fake outside.

mod breaks;
mod composites;
mod each;
mod effects;
mod errors;
mod fake;
mod flow;
mod hostile;
mod loops;
mod nesting;
