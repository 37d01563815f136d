//! Deployments: their states, lists and figures.

pub mod environments;
mod kept_apart;
mod lifecycle;
mod lists;
mod promotions;
mod rules;
mod seals;
