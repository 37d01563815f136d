//! Deployments: their states, lists and figures.

mod lifecycle;
mod lists;
