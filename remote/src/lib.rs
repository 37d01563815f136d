//! A workspace's patterns as files in a directory, in a form that git can compare and merge, and how the directory and a server
//! are kept in step. Knows a server by its HTTP interface alone, like any other client.

mod case;
pub mod change;
pub mod connections;
pub mod dev_file;
pub mod directory;
pub mod document;
mod environment_file;
pub mod environments;
mod error;
pub mod files;
mod history;
pub mod merge;
mod print;
pub mod profile;
pub mod server;
pub mod sync;
pub mod test_files;

pub use error::Error;
