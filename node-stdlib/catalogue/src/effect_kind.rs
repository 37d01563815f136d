//! The kinds of effects, and what each does outside of the run that has it. Knows nothing of how they do it.

/// How far an effect reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It computes or waits: nobody notices when it is done once more.
    Nothing,
    /// What the service keeps or expects for the pattern. Test runs have their own.
    Service,
    /// By its requests only, which are effects of their own.
    Requests,
    /// Others, who notice each time.
    Outside,
}

impl Reach {
    /// Lower-case name, for editors.
    pub const fn name(self) -> &'static str {
        match self {
            Reach::Nothing => "nothing",
            Reach::Service => "service",
            Reach::Requests => "requests",
            Reach::Outside => "outside",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectKind {
    /// As manifests, traces and journals have it.
    pub name: &'static str,
    /// How far it reaches.
    pub reach: Reach,
}

/// All kinds. Each is in the `effects` of a type, but for those of definitions (`component`) and of retries (`sleep`).
pub const EFFECT_KINDS: &[EffectKind] = &[
    kind("call", Reach::Outside),
    kind("callback", Reach::Service),
    kind("chat", Reach::Outside),
    kind("component", Reach::Requests),
    kind("file", Reach::Service),
    kind("file-piece", Reach::Service),
    kind("hash", Reach::Nothing),
    kind("hmac", Reach::Nothing),
    kind("http", Reach::Outside),
    kind("jwt", Reach::Nothing),
    kind("key-value", Reach::Service),
    kind("mail", Reach::Outside),
    kind("sleep", Reach::Nothing),
    kind("sql", Reach::Outside),
    kind("stream", Reach::Service),
    kind("stream-read", Reach::Outside),
    kind("wait", Reach::Nothing),
];

const fn kind(name: &'static str, reach: Reach) -> EffectKind {
    EffectKind { name, reach }
}

/// How far effects of this kind reach; of one that nobody knows, outside.
pub fn reach(kind: &str) -> Reach {
    let known = EFFECT_KINDS.iter().find(|known| known.name == kind);
    known.map_or(Reach::Outside, |known| known.reach)
}
