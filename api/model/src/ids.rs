//! Identifiers: UUIDv7 as text, so that they sort by time of creation. Each kind of object has its own id type.

use serde::{Deserialize, Serialize, Serializer};
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
            /// Of a user.
            UserId,
            /// Of a workspace.
            WorkspaceId,
            /// Of an environment.
            EnvironmentId,
            /// Of a connection.
            ConnectionId,
            /// Of a browser's session.
            SessionId,
            /// Of an API key.
            ApiKeyId,
            /// Of an invitation to a workspace.
            InvitationId,
            /// Of a link by which somebody joins a workspace.
            InvitationLinkId,
            /// Of a data key, see `vault`.
            DataKeyId,
            /// Of a pattern.
            PatternId,
            /// Of a webhook endpoint; not the unguessable part of its URL.
            EndpointId,
            /// Of a deployment.
            DeploymentId,
            /// Of a run.
            RunId,
            /// Of an editor's tab in a browser, which names itself.
            TabId,
            /// Of a test of a pattern.
            TestId,
            /// Of a line of the webhook log.
            WebhookLogId,
            /// Of an entry of the audit log.
            AuditId,
            /// Of a file.
            FileId,
            /// Of what a file holds; files with equal bytes have the same.
            BlobId,
        }
    };
}

for_each_id!(ids);
