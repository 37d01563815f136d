//! What an OnWebhook node's parameters say of its requests. They are checked when a pattern is compiled; what is wrong in
//! a draft nevertheless never lets more in than what is right. Knows nothing about requests.

use crate::chat::Chat;
use crate::form::Form;
use crate::signature::{Authentication, Digests, Jwt, MacForm, Scheme};
use ipnet::IpNet;
use serde_json::{Map, Value, json};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Methods that a node can take, in the order of [`Methods`].
pub const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];
/// Kinds of bodies that a node can take, in the order of [`Accepted`].
const KINDS: [(&str, BodyKind); 5] = [
    ("json", BodyKind::Json),
    ("form", BodyKind::Form),
    ("multipart", BodyKind::Multipart),
    ("text", BodyKind::Text),
    ("binary", BodyKind::Binary),
];

/// What the stored parameters of an OnForm node have, by which they are told from those of an OnWebhook, which never have it.
pub const FORM_MARK: &str = "form";
/// The parameter by which stored parameters are known as an OnChat node's.
pub const CHAT_MARK: &str = "chat";

/// How a body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    Json,
    /// Fields, URL-encoded.
    Form,
    /// Fields and files.
    Multipart,
    /// Text, XML and the like.
    Text,
    /// Any bytes.
    Binary,
}

/// Which methods start a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Methods(u8);

impl Default for Methods {
    /// POST only.
    fn default() -> Self {
        Methods(0b10)
    }
}

impl Methods {
    /// Whether this one does.
    pub fn has(self, method: &str) -> bool {
        let place = METHODS.iter().position(|known| *known == method);
        place.is_some_and(|place| self.0 & (1 << place) != 0)
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        METHODS.into_iter().filter(move |name| self.has(name))
    }
}

/// Which bodies start a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted(u8);

impl Accepted {
    /// Nothing but the content type `application/json`.
    pub const JSON_ONLY: Accepted = Accepted(0);

    /// Whether bodies of this kind do.
    pub fn has(self, kind: BodyKind) -> bool {
        self == Accepted::JSON_ONLY && kind == BodyKind::Json || self.0 & (1 << kind as u8) != 0
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        KINDS
            .into_iter()
            .filter(move |(_, kind)| self.has(*kind))
            .map(|(name, _)| name)
    }

    /// How a body of this media type is read, if it is taken. Of parameters after it nothing is known here.
    pub fn kind_of(self, media_type: &str) -> Option<BodyKind> {
        let is = |name: &str| media_type.eq_ignore_ascii_case(name);
        if self == Accepted::JSON_ONLY {
            return is("application/json").then_some(BodyKind::Json);
        }
        let lower = media_type.to_ascii_lowercase();
        let kind = match lower.as_str() {
            "application/json" => BodyKind::Json,
            "application/x-www-form-urlencoded" => BodyKind::Form,
            "multipart/form-data" => BodyKind::Multipart,
            "application/xml" => BodyKind::Text,
            other if other.ends_with("+json") => BodyKind::Json,
            other if other.starts_with("text/") || other.ends_with("+xml") => BodyKind::Text,
            _ => BodyKind::Binary,
        };
        [kind, BodyKind::Binary].into_iter().find(|kind| self.has(*kind))
    }
}

/// What becomes of events while the deployment is paused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenPaused {
    /// They can be looked at for a while, and start nothing.
    #[default]
    Capture,
    /// They wait until it is resumed.
    Queue,
}

/// What the path after the webhook's id must be: text, or a name for what stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    Text(String),
    /// Anything, under this name.
    Name(String),
}

/// Which pages may send requests from a browser.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origins {
    /// None.
    #[default]
    Nobody,
    /// All.
    Any,
    These(Vec<String>),
}

impl Origins {
    /// Whether the pages of this origin may.
    pub fn has(&self, origin: &str) -> bool {
        match self {
            Origins::Nobody => false,
            Origins::Any => true,
            Origins::These(known) => known.iter().any(|known| known.eq_ignore_ascii_case(origin)),
        }
    }
}

/// What an OnWebhook node's parameters say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// How senders prove who they are.
    pub authentication: Authentication,
    /// Which methods start a run.
    pub methods: Methods,
    /// What must follow the webhook's id; nothing by default.
    pub path: Vec<Segment>,
    /// Which bodies start a run.
    pub accept: Accepted,
    /// Whether the event has the body as text besides.
    pub raw_body: bool,
    /// Whether the files of a body are stored, and the event refers to them.
    pub stores_files: bool,
    /// Which pages may send requests from a browser.
    pub origins: Origins,
    /// Size of the largest body, if it is below the server's.
    pub body_bytes_max: Option<usize>,
    /// Requests a minute, from all addresses together; 0: any number.
    pub requests_per_minute: u32,
    /// Networks of senders; `None`: any.
    pub networks: Option<Vec<IpNet>>,
    /// What becomes of events while the deployment is paused.
    pub when_paused: WhenPaused,
    /// Whether the sender waits for the run; `None`: if there is a RespondToWebhook.
    pub is_sync: Option<bool>,
    /// How long the sender waits at most.
    pub patience: Option<Duration>,
    /// Whether the question by which Slack checks a new address is answered, and starts no run.
    pub answers_slack: bool,
    /// Whether a sender that waits is told all of the error of a run that has failed.
    pub tells_errors: bool,
    /// The page that an OnForm node serves; none of an OnWebhook.
    pub form: Option<Arc<Form>>,
    /// The page that an OnChat node serves; none of others.
    pub chat: Option<Arc<Chat>>,
}

impl Default for Webhook {
    fn default() -> Self {
        Webhook::of(&Map::new())
    }
}

impl Webhook {
    /// From a node's parameters.
    pub fn of(parameters: &Map<String, Value>) -> Self {
        let number = |name: &str| parameters.get(name).and_then(Value::as_u64);
        let scheme = text(parameters, "scheme")
            .and_then(Scheme::named)
            .unwrap_or_default();
        Webhook {
            authentication: authentication(scheme, parameters),
            methods: methods(parameters.get("methods")),
            path: text(parameters, "path").map_or_else(Vec::new, segments),
            accept: accepted(scheme, parameters.get("accept")),
            raw_body: parameters
                .get("rawBody")
                .and_then(Value::as_bool)
                .unwrap_or_default(),
            stores_files: parameters
                .get("files")
                .and_then(Value::as_bool)
                .unwrap_or_default(),
            origins: origins(parameters.get("cors")),
            body_bytes_max: number("maxBytes").and_then(|bytes| usize::try_from(bytes).ok()),
            requests_per_minute: number("requestsPerMinute")
                .and_then(|requests| u32::try_from(requests).ok())
                .unwrap_or_default(),
            networks: networks(parameters.get("allowIps")),
            when_paused: match text(parameters, "whenPaused") {
                Some("queue") => WhenPaused::Queue,
                _ => WhenPaused::Capture,
            },
            is_sync: match text(parameters, "responseMode") {
                Some("sync") => Some(true),
                Some("async") => Some(false),
                _ => None,
            },
            answers_slack: text(parameters, "verification") == Some("slack"),
            tells_errors: parameters
                .get("errorDetails")
                .and_then(Value::as_bool)
                .unwrap_or(false),
            patience: parameters
                .get("timeoutMs")
                .and_then(Value::as_f64)
                .map(|ms| Duration::from_millis(ms as u64)),
            form: None,
            chat: None,
        }
    }

    /// From an OnChat node's parameters: anyone may see the page and write, and waits for the answer.
    pub fn of_chat(parameters: &Map<String, Value>) -> Self {
        let limits = ["allowIps", "cors", "requestsPerMinute", "timeoutMs"];
        let mut of_requests = parameters.clone();
        of_requests.retain(|name, _| limits.contains(&name.as_str()));
        Webhook {
            authentication: authentication(Scheme::Open, &Map::new()),
            methods: methods(Some(&json!(["GET", "POST", "HEAD"]))),
            accept: accepted(Scheme::Open, Some(&json!(["json", "form"]))),
            is_sync: Some(true),
            chat: Some(Arc::new(Chat::of(parameters))),
            ..Webhook::of(&of_requests)
        }
    }

    /// From an OnForm node's parameters: anyone may see the page and send it.
    pub fn of_form(parameters: &Map<String, Value>) -> Self {
        let limits = [
            "allowIps",
            "requestsPerMinute",
            "maxBytes",
            "whenPaused",
            "responseMode",
            "timeoutMs",
        ];
        let form = Form::of(parameters);
        let mut of_requests = parameters.clone();
        of_requests.retain(|name, _| limits.contains(&name.as_str()));
        let stores_files = form.file_fields().next().is_some();
        Webhook {
            authentication: authentication(Scheme::Open, &Map::new()),
            methods: methods(Some(&json!(["GET", "POST", "HEAD"]))),
            accept: accepted(Scheme::Open, Some(&json!(["form", "multipart"]))),
            stores_files,
            form: Some(Arc::new(form)),
            ..Webhook::of(&of_requests)
        }
    }

    /// A webhook whose node says how senders sign, and nothing else.
    pub fn signed(scheme: Scheme) -> Self {
        let mut webhook = Webhook::default();
        webhook.authentication.scheme = scheme;
        webhook.accept = accepted(scheme, None);
        webhook
    }

    /// From a node's parameters as JSON; what is not an object has none.
    pub fn of_json(parameters: &str) -> Self {
        let parameters: Option<Map<String, Value>> = serde_json::from_str(parameters).ok();
        let parameters = parameters.unwrap_or_default();
        if parameters.contains_key(FORM_MARK) {
            return Webhook::of_form(&parameters);
        }
        match parameters.contains_key(CHAT_MARK) {
            true => Webhook::of_chat(&parameters),
            false => Webhook::of(&parameters),
        }
    }

    /// What must follow the webhook's id, as it is written; `None` if nothing does.
    pub fn path_text(&self) -> Option<String> {
        let written = |segment: &Segment| match segment {
            Segment::Text(text) => format!("/{text}"),
            Segment::Name(name) => format!("/:{name}"),
        };
        (!self.path.is_empty()).then(|| self.path.iter().map(written).collect())
    }

    /// Whether a sender with this address is let in.
    pub fn lets_in(&self, address: IpAddr) -> bool {
        self.networks
            .as_ref()
            .is_none_or(|networks| networks.iter().any(|network| network.contains(&address)))
    }
}

fn text<'p>(parameters: &'p Map<String, Value>, name: &str) -> Option<&'p str> {
    parameters.get(name).and_then(Value::as_str)
}

/// The texts of a list; `None` if there is no list.
fn texts(value: Option<&Value>) -> Option<Vec<&str>> {
    let list = value?.as_array()?;
    Some(list.iter().filter_map(Value::as_str).collect())
}

fn authentication(scheme: Scheme, parameters: &Map<String, Value>) -> Authentication {
    let nothing = Map::new();
    let object = |name: &str| {
        let given = parameters.get(name).and_then(Value::as_object);
        given.unwrap_or(&nothing).clone()
    };
    let owned = |of: &Map<String, Value>, name: &str| text(of, name).map(str::to_owned);
    let (mac, jwt) = (object("hmac"), object("jwt"));
    Authentication {
        scheme,
        header: match scheme {
            Scheme::Hmac => owned(&mac, "header"),
            _ => owned(parameters, "tokenHeader"),
        }
        .unwrap_or_default(),
        user: owned(parameters, "user").unwrap_or_default(),
        mac: MacForm {
            algorithm: match text(&mac, "algorithm") {
                Some("sha1") => Digests::Sha1,
                Some("sha512") => Digests::Sha512,
                _ => Digests::Sha256,
            },
            is_base64: text(&mac, "encoding") == Some("base64"),
            prefix: owned(&mac, "prefix").unwrap_or_default(),
            timestamp_header: owned(&mac, "timestampHeader"),
            separator: owned(&mac, "separator").unwrap_or_else(|| ".".to_owned()),
        },
        jwt: Jwt {
            algorithm: owned(&jwt, "algorithm").unwrap_or_else(|| "HS256".to_owned()),
            keys: jwt.get("keys").map(Value::to_string).unwrap_or_default(),
            keys_url: owned(&jwt, "keysUrl"),
            issuer: owned(&jwt, "issuer"),
            audience: owned(&jwt, "audience"),
        },
    }
}

fn methods(given: Option<&Value>) -> Methods {
    let Some(given) = texts(given).filter(|given| !given.is_empty()) else {
        return Methods::default();
    };
    let places = METHODS.iter().enumerate();
    let bits = places.filter(|(_, method)| given.contains(method));
    Methods(bits.fold(0, |all, (place, _)| all | 1 << place))
}

/// Twilio sends forms. Every other scheme takes JSON, as long as the node says nothing else.
fn accepted(scheme: Scheme, given: Option<&Value>) -> Accepted {
    let names = match texts(given).filter(|given| !given.is_empty()) {
        Some(given) => given,
        None if scheme == Scheme::Twilio => vec!["form", "json"],
        None => return Accepted::JSON_ONLY,
    };
    let kinds = KINDS.into_iter().filter(|(name, _)| names.contains(name));
    Accepted(kinds.fold(0, |all, (_, kind)| all | 1 << kind as u8))
}

fn segments(path: &str) -> Vec<Segment> {
    let path = path.trim_matches('/');
    if path.is_empty() {
        return Vec::new();
    }
    let segment = |text: &str| match text.strip_prefix(':') {
        Some(name) => Segment::Name(name.to_owned()),
        None => Segment::Text(text.to_owned()),
    };
    path.split('/').map(segment).collect()
}

fn origins(given: Option<&Value>) -> Origins {
    match texts(given) {
        None => Origins::Nobody,
        Some(given) if given.contains(&"*") => Origins::Any,
        Some(given) => Origins::These(
            given
                .into_iter()
                .map(|origin| origin.trim_end_matches('/').to_owned())
                .collect(),
        ),
    }
}

/// What can't be read lets nobody in.
fn networks(given: Option<&Value>) -> Option<Vec<IpNet>> {
    let given = given.filter(|given| !given.is_null())?;
    let listed = texts(Some(given)).unwrap_or_default();
    if listed.is_empty() && given.as_array().is_some_and(Vec::is_empty) {
        return None;
    }
    let network = |text: &str| {
        let address = |text: &str| text.parse::<IpAddr>().ok().map(IpNet::from);
        text.parse::<IpNet>().ok().or_else(|| address(text))
    };
    Some(listed.into_iter().filter_map(network).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn webhook(parameters: &Value) -> Webhook {
        Webhook::of_json(&parameters.to_string())
    }

    #[test]
    fn without_parameters_it_is_a_signed_post_of_json() {
        let plain = webhook(&json!({}));
        assert_eq!(
            plain.authentication,
            Authentication {
                mac: MacForm {
                    separator: ".".to_owned(),
                    ..MacForm::default()
                },
                jwt: Jwt {
                    algorithm: "HS256".to_owned(),
                    ..Jwt::default()
                },
                ..Authentication::from(Scheme::Heddle)
            }
        );
        assert_eq!(plain.methods.names().collect::<Vec<_>>(), ["POST"]);
        assert_eq!(plain.accept.kind_of("Application/JSON"), Some(BodyKind::Json));
        for other in [
            "application/vnd.api+json",
            "text/plain",
            "application/x-www-form-urlencoded",
            "",
        ] {
            assert_eq!(plain.accept.kind_of(other), None, "{other}");
        }
        assert!(plain.lets_in("203.0.113.7".parse().unwrap()));
        assert!(!plain.origins.has("https://shop.example.com"));
        assert_eq!((plain.when_paused, plain.path.len()), (WhenPaused::Capture, 0));
    }

    #[test]
    fn bodies_are_read_as_the_first_that_fits_and_is_accepted() {
        let all = webhook(&json!({"accept": ["json", "form", "multipart", "text", "binary"]})).accept;
        for (media_type, kind) in [
            ("application/json", BodyKind::Json),
            ("application/cloudevents+json", BodyKind::Json),
            ("application/x-www-form-urlencoded", BodyKind::Form),
            ("Multipart/Form-Data", BodyKind::Multipart),
            ("text/csv", BodyKind::Text),
            ("application/xml", BodyKind::Text),
            ("application/soap+xml", BodyKind::Text),
            ("image/png", BodyKind::Binary),
            ("", BodyKind::Binary),
        ] {
            assert_eq!(all.kind_of(media_type), Some(kind), "{media_type}");
        }
        let binary = webhook(&json!({"accept": ["binary"]})).accept;
        assert_eq!(binary.kind_of("application/json"), Some(BodyKind::Binary));
        let form = webhook(&json!({"accept": ["form"]})).accept;
        assert_eq!(
            (form.kind_of("application/json"), form.kind_of("image/png")),
            (None, None)
        );
        let twilio = webhook(&json!({"scheme": "twilio"})).accept;
        assert_eq!(twilio.names().collect::<Vec<_>>(), ["json", "form"]);
    }

    #[test]
    fn networks_that_cant_be_read_let_nobody_in() {
        let address: IpAddr = "192.0.2.7".parse().unwrap();
        for (given, is_let_in) in [
            (json!(["192.0.2.0/24"]), true),
            (json!(["192.0.2.7", "2001:db8::/32"]), true),
            (json!(["198.51.100.0/24"]), false),
            (json!(["nonsense"]), false),
            (json!("192.0.2.7"), false),
            (json!([7]), false),
            (json!([]), true),
            (json!(null), true),
        ] {
            assert_eq!(
                webhook(&json!({"allowIps": given})).lets_in(address),
                is_let_in,
                "{given}"
            );
        }
    }

    #[test]
    fn paths_are_texts_and_names() {
        let path = webhook(&json!({"path": "/orders/:order/"})).path;
        assert_eq!(
            path,
            [
                Segment::Text("orders".to_owned()),
                Segment::Name("order".to_owned())
            ]
        );
    }

    #[test]
    fn origins_are_compared_as_a_whole() {
        let origins = webhook(&json!({"cors": ["https://shop.example.com/"]})).origins;
        assert!(origins.has("https://shop.example.com"));
        for other in [
            "https://shop.example.com.evil.example",
            "http://shop.example.com",
            "null",
        ] {
            assert!(!origins.has(other), "{other}");
        }
        assert!(webhook(&json!({"cors": ["*"]})).origins.has("null"));
    }
}
