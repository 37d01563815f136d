//! Nodes for time and cryptography.

use crate::content::{Content, TimeUnit};
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Category, Example, NodeType, Parameter, Schema, TEXT_OUT};

/// In the order in which lists show them.
pub const TYPES: &[NodeType] = &[DATE_TIME, HASH, HMAC, JWT, UUID, RANDOM];

const UNITS: Schema = Schema::Enum(&[
    "years",
    "quarters",
    "months",
    "weeks",
    "days",
    "hours",
    "minutes",
    "seconds",
    "milliseconds",
    "year",
    "quarter",
    "month",
    "week",
    "day",
    "hour",
    "minute",
    "second",
    "millisecond",
]);
/// What a date-time may be given as.
const INSTANT: Schema = Schema::OneOf(&[Schema::String, Schema::Number]);

const DATE_TIME: NodeType = NodeType {
    description: "Reads, writes and calculates with date-times in any time zone. Results are ISO 8601 text with \
                  milliseconds and offset (`2026-03-29T12:00:00.000+02:00`, `Z` for UTC) unless `format` says \
                  otherwise.",
    parameters: &[
        Parameter::optional(
            "operation",
            Schema::Enum(&[
                "now", "parse", "format", "add", "subtract", "diff", "startOf", "endOf",
            ]),
            "`now` is when the run started; `diff` is how many `unit`s lie between `other` and `value`; `startOf` and \
             `endOf` are the first and last millisecond of the `unit` around `value` (weeks start on Monday).",
        )
        .or(r#""now""#),
        Parameter::optional(
            "value",
            INSTANT,
            "The date-time: ISO 8601 text, an RFC 2822 or HTTP date, or milliseconds since 1970. Without an offset \
             it is in `timezone`. Default: the input.",
        ),
        Parameter::optional(
            "format",
            Schema::String,
            "How the result is written, for `parse` how the value is: `iso`, `rfc2822`, `http`, `unix` (seconds), \
             `unixMs`, or Luxon's tokens (`yyyy-MM-dd HH:mm`, `d LLLL yyyy`, `ccc, h:mm a`, with text in single \
             quotes).",
        )
        .or(r#""iso""#),
        Parameter::optional(
            "timezone",
            Schema::String,
            "The IANA time zone (`Europe/Prague`) or offset (`+02:00`) of the result and of the calculation.",
        )
        .content(Content::TimeZone { offsets: true })
        .or(r#""UTC""#),
        Parameter::optional(
            "duration",
            Schema::OneOf(&[Schema::Map(&Schema::Number), Schema::String, Schema::Number]),
            "For `add` and `subtract`: an object of numbers by unit ({\"days\": 1, \"hours\": 2}), ISO 8601 text \
             (`P1DT2H`), or a number of `unit`s. Years to days follow the calendar (a month after 31 January is the \
             last of February), hours and less are exact.",
        ),
        Parameter::optional(
            "unit",
            UNITS,
            "For `startOf` and `endOf` (where it must be given), `diff` and a `duration` that is a number (default: \
             milliseconds). The singular is taken too.",
        ),
        Parameter::optional(
            "other",
            INSTANT,
            "For `diff`: the date-time to count from; the result is positive when `value` is later.",
        ),
    ],
    examples: &[
        Example {
            title: "A month later, over the change to summer time",
            parameters: r#"{"operation": "add", "value": "2026-02-28T12:00:00+01:00", "duration": {"months": 1, "days": 1}, "timezone": "Europe/Berlin"}"#,
            input: "null",
            output: r#"{"out": "2026-03-29T12:00:00.000+02:00"}"#,
        },
        Example {
            title: "For a person",
            parameters: r#"{"operation": "format", "format": "cccc, d LLLL yyyy 'at' h:mm a", "timezone": "America/New_York"}"#,
            input: r#""2026-07-04T16:30:00Z""#,
            output: r#"{"out": "Saturday, 4 July 2026 at 12:30 PM"}"#,
        },
        Example {
            title: "Days between",
            parameters: r#"{"operation": "diff", "value": "2026-03-01", "other": "2026-02-01", "unit": "days"}"#,
            input: "null",
            output: r#"{"out": 28}"#,
        },
    ],
    ..NodeType::plain(
        "DateTime",
        Category::TimeAndCrypto,
        Face::new(
            "Date and time",
            Icon::Calendar,
            Group::Time,
            &["date", "time zone", "format date", "add days", "difference", "now"],
        ),
    )
};

const ALGORITHM: Parameter = Parameter::optional(
    "algorithm",
    Schema::Enum(&["sha256", "sha1", "sha512", "md5"]),
    "The hash algorithm. SHA-1 and MD5 are broken: use them only where they are required.",
)
.or(r#""sha256""#);
const HASHED: Parameter = Parameter::optional(
    "value",
    Schema::String,
    "The text, hashed as UTF-8. Default: the input. Write an object as text with a Json node first.",
);
const ENCODING: Parameter = Parameter::optional(
    "encoding",
    Schema::Enum(&["hex", "base64"]),
    "How the digest is written.",
)
.or(r#""hex""#);

const HASH: NodeType = NodeType {
    description: "The digest of a text: a fingerprint that differs when the text does.",
    outputs: TEXT_OUT,
    parameters: &[ALGORITHM, HASHED, ENCODING],
    effects: &["hash"],
    examples: &[Example {
        title: "SHA-256",
        parameters: "{}",
        input: r#""abc""#,
        output: r#"{"out": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}"#,
    }],
    ..NodeType::plain(
        "Hash",
        Category::TimeAndCrypto,
        Face::new(
            "Hash",
            Icon::Hash,
            Group::Cryptography,
            &["sha256", "md5", "digest", "checksum", "crypto", "fingerprint"],
        ),
    )
};

const HMAC: NodeType = NodeType {
    description: "The digest of text with a secret (RFC 2104), which proves to the receiver that the sender \
        has the secret too.",
    outputs: TEXT_OUT,
    parameters: &[
        ALGORITHM,
        HASHED,
        Parameter::required(
            "secret",
            Schema::String,
            "The secret, best as `{{ $secrets.NAME }}`: it is then used outside the sandbox and never seen \
                by the pattern.",
        )
        .content(Content::Secret),
        ENCODING,
    ],
    effects: &["hmac"],
    examples: &[Example {
        title: "RFC 4231's second test",
        parameters: r#"{"secret": "Jefe"}"#,
        input: r#""what do ya want for nothing?""#,
        output: r#"{"out": "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"}"#,
    }],
    ..NodeType::plain(
        "Hmac",
        Category::TimeAndCrypto,
        Face::new(
            "HMAC",
            Icon::ShieldCheck,
            Group::Cryptography,
            &["sign", "signature", "sha256", "webhook signature", "crypto"],
        ),
    )
};

const JWT: NodeType = NodeType {
    description: "Signs, verifies or reads a JSON Web Token (RFC 7519). Verifying gives the claims of a \
        token that has a valid signature by the expected algorithm and is valid at the time; anything else \
        fails, with the codes `JWT_INVALID`, `JWT_EXPIRED` and `JWT_NOT_YET_VALID`, or `PARSE` for anything \
        that is not a token.",
    parameters: &[
        Parameter::optional(
            "operation",
            Schema::Enum(&["sign", "verify", "decode"]),
            "`sign` gives a token; `verify` the claims of a token that is valid at the time when the run started; \
             `decode` gives {header, payload, signature} without checking anything: anyone can have written that.",
        )
        .or(r#""verify""#),
        Parameter::optional(
            "payload",
            Schema::Map(&Schema::Any),
            "For `sign`: the claims. Anyone who has the token can read them. Default: the input.",
        )
        .content(Content::Json),
        Parameter::optional(
            "token",
            Schema::String,
            "For `verify` and `decode`: the token; a leading `Bearer ` is ignored. Default: the input.",
        ),
        Parameter::optional(
            "secret",
            Schema::String,
            "For `sign` and `verify`, best as `{{ $secrets.NAME }}`: it is then used outside the sandbox \
                and never seen by the pattern. For RS256 and ES256 a key in PEM: the private one to sign \
                (PKCS#8), the public one to verify (SPKI).",
        )
        .content(Content::Secret),
        Parameter::optional(
            "algorithm",
            Schema::Enum(&["HS256", "HS384", "HS512", "RS256", "ES256"]),
            "How tokens are signed. A token that names another algorithm is invalid.",
        )
        .or(r#""HS256""#),
        Parameter::optional(
            "expiresInSeconds",
            Schema::Integer {
                min: 1,
                max: 316_224_000,
            },
            "For `sign`: sets the claims `iat` and `exp`, counted from the start of the run.",
        )
        .content(Content::Duration(TimeUnit::Seconds)),
        Parameter::optional(
            "header",
            Schema::Map(&Schema::Any),
            "For `sign`: further fields of the header, such as `kid`.",
        )
        .advanced(),
        Parameter::optional(
            "issuer",
            Schema::OneOf(&[Schema::String, Schema::Array(&Schema::String)]),
            "For `verify`: the value of the claim `iss`, or a list of allowed values.",
        )
        .advanced(),
        Parameter::optional(
            "audience",
            Schema::OneOf(&[Schema::String, Schema::Array(&Schema::String)]),
            "For `verify`: the value that the claim `aud` must be or contain, or a list of which one must \
                match.",
        )
        .advanced(),
        Parameter::optional(
            "leewaySeconds",
            Schema::Integer { min: 0, max: 3600 },
            "For `verify`: how far the signer's clock may be off.",
        )
        .content(Content::Duration(TimeUnit::Seconds))
        .advanced()
        .or("0"),
    ],
    effects: &["jwt"],
    examples: &[
        Example {
            title: "Sign",
            parameters: r#"{"operation": "sign", "secret": "your-256-bit-secret"}"#,
            input: r#"{"sub": "1234567890", "name": "John Doe", "iat": 1516239022}"#,
            output: r#"{"out": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"}"#,
        },
        Example {
            title: "Verify",
            parameters: r#"{"secret": "your-256-bit-secret"}"#,
            input: r#""eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c""#,
            output: r#"{"out": {"sub": "1234567890", "name": "John Doe", "iat": 1516239022}}"#,
        },
    ],
    ..NodeType::plain(
        "Jwt",
        Category::TimeAndCrypto,
        Face::new(
            "JWT",
            Icon::KeyRound,
            Group::Cryptography,
            &["json web token", "sign", "verify", "decode", "bearer", "claims"],
        ),
    )
};

const UUID: NodeType = NodeType {
    description: "A new identifier (RFC 9562).",
    outputs: TEXT_OUT,
    parameters: &[Parameter::optional(
        "version",
        Schema::OneOf(&[
            Schema::Integer { min: 4, max: 4 },
            Schema::Integer { min: 7, max: 7 },
        ]),
        "4: random. 7: begins with the time of the run, so that identifiers sort by it.",
    )
    .or("4")],
    examples: &[Example {
        title: "Version 4, with `heddle run --seed 1`",
        parameters: r#"{"version": 4}"#,
        input: "null",
        output: r#"{"out": "4f5be864-9470-4618-bdb7-8e28b0228fe9"}"#,
    }],
    ..NodeType::plain(
        "Uuid",
        Category::TimeAndCrypto,
        Face::new(
            "UUID",
            Icon::IdCard,
            Group::Cryptography,
            &["id", "guid", "identifier", "unique id"],
        ),
    )
};

const RANDOM: NodeType = NodeType {
    description: "A random number, or one of several choices. Not for passwords and keys: replaying the run \
        gives the same values.",
    parameters: &[
        Parameter::optional("min", Schema::Number, "Smallest.").or("0"),
        Parameter::optional(
            "max",
            Schema::Number,
            "Largest; included with `integer`, otherwise all numbers are below it.",
        )
        .or("1"),
        Parameter::optional("integer", Schema::Boolean, "Whole numbers only.").or("false"),
        Parameter::optional(
            "choices",
            Schema::Array(&Schema::Any),
            "What to choose from, with equal probability; instead of a number.",
        ),
    ],
    examples: &[
        Example {
            title: "A die, with `heddle run --seed 1`",
            parameters: r#"{"min": 1, "max": 6, "integer": true}"#,
            input: "null",
            output: r#"{"out": 1}"#,
        },
        Example {
            title: "A choice, with `heddle run --seed 1`",
            parameters: r#"{"choices": ["tea", "coffee", "water"]}"#,
            input: "null",
            output: r#"{"out": "tea"}"#,
        },
    ],
    ..NodeType::plain(
        "Random",
        Category::TimeAndCrypto,
        Face::new(
            "Random",
            Icon::Dices,
            Group::Cryptography,
            &["random number", "dice", "choose", "sample", "chance"],
        ),
    )
};
