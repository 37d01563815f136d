//! Forms for people without an account: their fields as HTML and their pages, of OnForm nodes and of runs that ask for more.

pub mod fields;
pub mod page;
