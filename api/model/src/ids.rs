//! Identifiers: UUIDv7 as text, so that they sort by time of creation. Each kind of object has its own id type.

use serde::{Deserialize, Serialize, Serializer};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use utoipa::ToSchema;
use uuid::Uuid;

/// The text is not a valid id.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("not a valid id")]
pub struct NotAnId;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, ToSchema)]
        #[serde(try_from = "String")]
        #[schema(value_type = String, format = "uuid", example = "01932c07-209e-7f64-b0a3-5c1f1b0e6f3a")]
        pub struct $name(Uuid);

        impl $name {
            /// A new one.
            #[expect(clippy::new_without_default, reason = "each call gives another value")]
            pub fn new() -> Self {
                $name(crate::entropy::new_uuid())
            }

            /// As a number, for those who only tell one from another.
            pub const fn as_u128(self) -> u128 {
                self.0.as_u128()
            }

            /// Its text, without a string in between.
            pub fn shared_text(self) -> std::sync::Arc<str> {
                let mut text = [0; uuid::fmt::Hyphenated::LENGTH];
                let text: &str = self.0.as_hyphenated().encode_lower(&mut text);
                text.into()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl std::str::FromStr for $name {
            type Err = NotAnId;

            /// Parses only the canonical form, so that every object has exactly one address.
            fn from_str(text: &str) -> Result<Self, NotAnId> {
                let id = Uuid::try_parse(text).map_err(|_| NotAnId)?;
                let id = $name(id);
                (id.to_string() == text).then_some(id).ok_or(NotAnId)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NotAnId;

            fn try_from(text: String) -> Result<Self, NotAnId> {
                text.parse()
            }
        }

        impl<DB: sqlx::Database> sqlx::Type<DB> for $name
        where
            String: sqlx::Type<DB>,
        {
            fn type_info() -> DB::TypeInfo {
                <String as sqlx::Type<DB>>::type_info()
            }

            fn compatible(of: &DB::TypeInfo) -> bool {
                <String as sqlx::Type<DB>>::compatible(of)
            }
        }

        impl<'r, DB: sqlx::Database> sqlx::Decode<'r, DB> for $name
        where
            &'r str: sqlx::Decode<'r, DB>,
        {
            fn decode(value: DB::ValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
                Ok(<&str as sqlx::Decode<'r, DB>>::decode(value)?.parse()?)
            }
        }
    )*};
}

/// Calls a macro with all types of ids and their descriptions: here it makes them, elsewhere it may implement something
/// for each of them.
#[macro_export]
macro_rules! for_each_id {
    ($macro:ident) => {
        $macro! {
            /// Id of a user.
            UserId,
            /// Id of a workspace.
            WorkspaceId,
            /// Id of an environment.
            EnvironmentId,
            /// Id of a connection.
            ConnectionId,
            /// Id of a browser's session.
            SessionId,
            /// Id of an API key.
            ApiKeyId,
            /// Id of an invitation to a workspace.
            InvitationId,
            /// Id of a link by which somebody joins a workspace.
            InvitationLinkId,
            /// Id of a data key, see `vault`.
            DataKeyId,
            /// Id of a pattern.
            PatternId,
            /// Id of a webhook endpoint; not the unguessable part of its URL.
            EndpointId,
            /// Id of a deployment.
            DeploymentId,
            /// Id of a run.
            RunId,
            /// Id of an editor's tab in a browser, which names itself.
            TabId,
            /// Id of a test of a pattern.
            TestId,
            /// Id of a line of the webhook log.
            WebhookLogId,
            /// Id of an entry of the audit log.
            AuditId,
            /// Id of a file.
            FileId,
            /// Id of what a file holds; files with equal bytes have the same.
            BlobId,
        }
    };
}

for_each_id!(ids);

/// A map by ids, or by what consists of ids.
pub type IdMap<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;

/// Hashes ids that the service has made: these have enough random bits that nobody can choose some that collide, and what
/// keeps others from that in the standard library's hasher costs several times as much.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdHasher(u64);

impl IdHasher {
    /// The golden ratio, as in Knuth, "Sorting and Searching", 6.4: multiplied, and both halves of the product folded into one.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

    fn add(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(Self::FACTOR);
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add(u64::from_le_bytes(*word));
        }
        for byte in rest {
            self.add(u64::from(*byte));
        }
    }

    fn write_isize(&mut self, variant: isize) {
        self.add(variant as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::{IdHasher, RunId};
    use std::collections::HashSet;
    use std::hash::{BuildHasher, BuildHasherDefault};

    #[test]
    fn ids_of_one_moment_have_hashes_of_their_own() {
        let hasher = BuildHasherDefault::<IdHasher>::default();
        let ids: Vec<RunId> = (0..10_000).map(|_| RunId::new()).collect();
        // A map looks at the lowest bits first, and at the highest seven after that.
        for part in [|hash: u64| hash & 0xffff, |hash: u64| hash >> 48] {
            let parts: HashSet<u64> = ids.iter().map(|id| part(hasher.hash_one(id))).collect();
            assert!(parts.len() > 8_500, "{}", parts.len());
        }
    }

    #[test]
    fn an_id_has_one_text() {
        let id = RunId::new();
        assert_eq!(*id.shared_text(), *id.to_string());
    }
}
