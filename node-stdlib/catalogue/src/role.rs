//! What a node type is to the graph and the run around it, for whoever must know more than its ports.

/// What starts a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Start {
    /// An HTTP request to the node's webhook.
    Webhook,
    /// What a person sends from the node's own page.
    Form,
    /// A message that a person or a program sends to the node's own chat.
    Chat,
    /// A time that a cron expression says.
    Schedule,
    /// Something new in a list that a service is asked for now and then.
    Poll,
    /// A person, by the command line, the API or an editor.
    Manual,
    /// Another pattern; in a composite, its input.
    Call,
    /// An e-mail to the node's address.
    Email,
    /// An e-mail in a mailbox on another server.
    Mailbox,
    /// The failure of another pattern's run.
    Error,
}

impl Start {
    /// Every way in which runs start.
    pub const ALL: &[Start] = &[
        Start::Webhook,
        Start::Form,
        Start::Chat,
        Start::Schedule,
        Start::Poll,
        Start::Manual,
        Start::Call,
        Start::Email,
        Start::Mailbox,
        Start::Error,
    ];

    /// Those by an HTTP request, which have an address below `/webhooks`.
    pub const REQUESTS: &[Start] = &[Start::Webhook, Start::Form, Start::Chat];

    /// Name of the one node type at which such runs start, as manifests have it. Triggers of services stand for one of them.
    pub const fn type_name(self) -> &'static str {
        match self {
            Start::Webhook => "OnWebhook",
            Start::Form => "OnForm",
            Start::Chat => "OnChat",
            Start::Schedule => "OnSchedule",
            Start::Poll => "OnPoll",
            Start::Manual => "OnManual",
            Start::Call => "OnCall",
            Start::Email => "OnEmail",
            Start::Mailbox => "OnMailbox",
            Start::Error => "OnError",
        }
    }

    /// What starts runs at nodes of this type; none if it is no trigger.
    pub fn of_type(name: &str) -> Option<Start> {
        Start::ALL.iter().copied().find(|start| start.type_name() == name)
    }
}

/// How often a node executes its body: the nodes between its ports `item` and `next`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iteration {
    /// Once for each element of a list.
    ForEach,
    /// As long as its condition, which reads what came back, holds.
    While {
        /// The parameter that says how often at most.
        at_most: &'static str,
    },
}

/// What a type does in the graph besides taking values and giving others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing.
    Plain,
    /// A run starts there.
    Trigger(Start),
    /// Executes a body again and again.
    Iterate(Iteration),
    /// Its input leaves by one of its outputs only.
    Choose {
        /// The parameter that lets it leave by several when it is not `false`.
        unless: Option<&'static str>,
    },
    /// Makes one value of what several edges bring to its input.
    Merge {
        /// The parameter that says how: by `first`, it passes on what comes first and waits for nothing else.
        mode: &'static str,
    },
    /// Sets the output of the run, or of the composite that it is in. Only the first in a run counts.
    Return,
    /// Answers the request that started the run. Only the first in a run counts.
    Respond,
    /// Sends a piece of the answer while the run goes on.
    Stream,
    /// Fails, in the words of the pattern's author.
    Throw,
}

impl Role {
    /// Name in kebab-case, for editors.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Plain => "plain",
            Role::Trigger(_) => "trigger",
            Role::Iterate(Iteration::ForEach) => "for-each",
            Role::Iterate(Iteration::While { .. }) => "while",
            Role::Choose { .. } => "choose",
            Role::Merge { .. } => "merge",
            Role::Return => "return",
            Role::Respond => "respond",
            Role::Stream => "stream",
            Role::Throw => "throw",
        }
    }
}
