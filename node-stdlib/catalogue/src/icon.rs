//! Names of the icons that editors draw on nodes. A new one is a new drawing, so they are few and listed.

macro_rules! icons {
    ($($variant:ident $name:literal,)+) => {
        /// What is drawn on a node. Names are those of Lucide, in kebab-case.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Icon {
            $(#[doc = concat!("`", $name, "`")] $variant,)+
        }

        impl Icon {
            /// All of them.
            pub const ALL: &[Icon] = &[$(Icon::$variant),+];

            /// Name in kebab-case.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Icon::$variant => $name,)+
                }
            }
        }
    };
}

icons! {
    ArrowUpDown "arrow-up-down",
    Binary "binary",
    Bot "bot",
    Braces "braces",
    Calendar "calendar",
    Circle "circle",
    Clock "clock",
    Code "code",
    CodeXml "code-xml",
    Combine "combine",
    CornerDownLeft "corner-down-left",
    CornerDownRight "corner-down-right",
    Database "database",
    Diff "diff",
    Dices "dices",
    FileText "file-text",
    Fingerprint "fingerprint",
    FoldVertical "fold-vertical",
    Funnel "funnel",
    Globe "globe",
    Hand "hand",
    Hash "hash",
    HardDrive "hard-drive",
    IdCard "id-card",
    Image "image",
    KeyRound "key-round",
    Link "link",
    ListChecks "list-checks",
    ListEnd "list-end",
    Mail "mail",
    Merge "merge",
    OctagonX "octagon-x",
    PanelTop "panel-top",
    Pencil "pencil",
    Play "play",
    Regex "regex",
    RefreshCw "refresh-cw",
    Repeat "repeat",
    Reply "reply",
    Route "route",
    ScrollText "scroll-text",
    Send "send",
    ShieldCheck "shield-check",
    Shuffle "shuffle",
    Sigma "sigma",
    Split "split",
    Table "table",
    Tag "tag",
    TextQuote "text-quote",
    Timer "timer",
    TriangleAlert "triangle-alert",
    Webhook "webhook",
    Workflow "workflow",
}
