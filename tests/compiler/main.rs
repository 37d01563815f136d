//! The compiler through its public interface.

#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

mod bounds;
mod chats;
mod code;
mod compare;
mod components;
#[path = "../shared/corpus.rs"]
mod corpus;
mod diagnostics;
mod emit;
mod expressions;
mod forms;
#[path = "../shared/component.rs"]
mod hand_made;
mod lowering;
mod mailboxes;
mod operations;
mod polls;
mod properties;
mod refusals;
mod vocabulary;
mod webhooks;
