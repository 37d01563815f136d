//! What a part of an archive is: rows of a table, and what each of their columns holds. Knows no table.

/// What a part is read for, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Each {
    Workspace,
    Environment,
    Pattern,
    Deployment,
}

/// Where rows are of the workspace itself, for what refers to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Of {
    Environment,
    Connection,
    Pattern,
    Webhook,
    Mailbox,
    Deployment,
    Schedule,
    Run,
}

/// What a column holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// The row's own id.
    Id,
    /// The id of a row that is there.
    Within(Of),
    /// The id of a row that is or was there, if any: one that is gone stays gone.
    Was(Of),
    /// An empty text, or the id of an environment that is or was there.
    Slot,
    /// An id of any object in a history; the object may be gone.
    Past,
    /// An id of any object in a history, or of a user.
    PastOrUser,
    /// The workspace itself.
    Workspace,
    /// A user, or else who gets what belonged to people without an account.
    Owner,
    /// A user, as history tells it.
    Author,
    /// A user with an account; rows of others are left out.
    Account,
    /// The SHA-256 of a module.
    Module,
    /// Text of at most so many bytes, and whether it may be null.
    Text(usize, bool),
    /// JSON of at most so many bytes, and whether it may be null.
    Json(usize, bool),
    /// An entry of a journal or what has come for one, as it is stored: JSON that may be packed.
    Entry,
    /// One of few names, by a function that knows them.
    Name(fn(&str) -> bool),
    /// An address that is unique everywhere.
    Address(Of),
    /// A number or time.
    Int,
    /// A number or time, or null.
    MaybeInt,
    /// A number that is not negative.
    Size,
    Bool,
    /// `workspace/<id>`.
    ScopeOfWorkspace,
    /// `pattern/<id>`, as `pattern_id` has it, and of a further deployment `pattern/<id>/<environment>`.
    ScopeOfPattern,
}

impl Kind {
    /// Whether it can be long.
    pub const fn is_text(self) -> bool {
        matches!(self, Kind::Text(..) | Kind::Json(..) | Kind::Entry)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub name: &'static str,
    pub kind: Kind,
}

/// What a secret's ciphertext is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sealed {
    Connection,
    Secret,
    Endpoint,
    Subscription,
}

impl Sealed {
    /// Columns of the data key and of the ciphertext.
    pub const fn columns(self) -> (&'static str, &'static str) {
        match self {
            Sealed::Connection | Sealed::Secret => ("data_key", "ciphertext"),
            Sealed::Endpoint => ("secret_key_id", "secret"),
            Sealed::Subscription => ("plan_key_id", "plan"),
        }
    }
}

/// A column by which rows are ordered and pages begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub column: &'static str,
    pub is_number: bool,
}

/// Rows of a table.
#[derive(Debug)]
pub(super) struct Part {
    /// Unique.
    pub name: &'static str,
    pub table: &'static str,
    pub each: Each,
    /// Tables and condition. The part's own is `t`, and each `?` is the id of what it is read for.
    pub from: &'static str,
    /// One to three.
    pub keys: &'static [Key],
    pub columns: &'static [Column],
    pub sealed: Option<Sealed>,
    /// Whether a copy that is beside the original gets them, too.
    pub is_copied: bool,
}
