//! Deployments: their states, lists and figures.

pub mod environments;
mod lifecycle;
mod lists;
mod promotions;
