//! What the value of a parameter stands for: an address, a connection, a time zone, …. Rights, checks and the inputs
//! of editors follow from it, never from a parameter's name.

/// What a value stands for, where its schema does not say it all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// What its schema says, and nothing more.
    Plain,
    /// An address to which the node connects: the pattern gets the right to its host. A path alone is below the
    /// address of the node's connection.
    Url,
    /// Id or name of a connection of one of these kinds: the pattern gets the right to it.
    Connection(&'static [ConnectionKind]),
    /// Id of a pattern that is run: the pattern gets the right to it.
    Pattern,
    /// A text that should be a secret.
    Secret,
    /// A cron expression.
    Cron,
    /// A name in the time zone database.
    TimeZone {
        /// Whether an offset such as `+02:00` will do as well.
        offsets: bool,
    },
    /// A span of time.
    Duration(TimeUnit),
    /// A list whose elements name output ports: it and its elements are written out, but what else they hold can be
    /// expressions.
    Cases,
    /// Nearly always an expression.
    Expression,
    /// A dotted path, or an expression.
    Path,
    /// Text of several lines.
    Multiline,
    /// Text in a language.
    Source(Language),
    /// Any JSON.
    Json,
}

/// What a connection leads to, and so which fields it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionKind {
    /// Credentials for HTTP requests.
    Http,
    /// A database.
    Sql,
    /// A mail server.
    Smtp,
    /// A mailbox on a mail server.
    Mailbox,
    /// A service that speaks OpenAI's chat API.
    Chat,
}

impl ConnectionKind {
    /// Name in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            ConnectionKind::Http => "http",
            ConnectionKind::Sql => "sql",
            ConnectionKind::Smtp => "smtp",
            ConnectionKind::Mailbox => "mailbox",
            ConnectionKind::Chat => "chat",
        }
    }
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    Milliseconds,
    Seconds,
}

impl TimeUnit {
    /// Name in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            TimeUnit::Milliseconds => "milliseconds",
            TimeUnit::Seconds => "seconds",
        }
    }
}

/// The language of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// A JavaScript module.
    JavaScript,
    /// A statement of SQL.
    Sql,
    Html,
    Markdown,
    /// A regular expression.
    Regex,
    CssSelector,
}

impl Language {
    /// Name in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            Language::JavaScript => "javascript",
            Language::Sql => "sql",
            Language::Html => "html",
            Language::Markdown => "markdown",
            Language::Regex => "regex",
            Language::CssSelector => "css-selector",
        }
    }
}
