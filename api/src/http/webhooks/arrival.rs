//! What is known of a request to a webhook when it arrives, and goes into its line of the log.

use super::chats;
use super::chats::turn::Turn;
use crate::app::App;
use crate::http::client_ip::ClientIp;
use crate::http::error::ApiError;
use crate::http::forms::page as form_page;
use axum::http::header::{CONTENT_LENGTH, USER_AGENT};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{PatternId, WebhookLogId};
use heddle_model::status::WebhookStatus;
use heddle_model::webhook::Webhook;
use heddle_store::webhook_logs::LogRow;
use std::net::IpAddr;
use std::sync::Arc;

/// Characters of what is logged of a request; the rest is cut off.
const LOGGED_CHARS_MAX: usize = 500;

/// What is logged of a request, whatever becomes of it.
pub struct Arrival {
    pub(super) webhook_id: String,
    pub(super) ip: ClientIp,
    /// Whether the answer is a page for a person.
    page: Option<PageOf>,
    /// The message of a chat, which is answered by that.
    pub(super) turn: Option<Arc<Turn>>,
    user_agent: Option<String>,
    request_id: String,
    pub(super) content_length: i64,
    pub(super) at: Timestamp,
}

/// Whose page answers.
enum PageOf {
    Form,
    Chat,
}

impl PageOf {
    /// That of a request to this webhook; none for programs.
    fn request(webhook: &Webhook, headers: &HeaderMap) -> Option<Self> {
        match (&webhook.form, &webhook.chat) {
            (Some(_), _) => Some(PageOf::Form),
            (None, Some(_)) => chats::turn::is_by_page(headers).then_some(PageOf::Chat),
            (None, None) => None,
        }
    }
}

impl Arrival {
    /// Records the arrival of a request at the current time.
    pub fn new(app: &App, webhook_id: &str, ip: ClientIp, request_id: String, headers: &HeaderMap) -> Self {
        let text = |name| Some(String::from_utf8_lossy(headers.get(name)?.as_bytes()));
        let declared = text(CONTENT_LENGTH).and_then(|length| length.parse().ok());
        Arrival {
            webhook_id: loggable(webhook_id),
            ip,
            page: None,
            turn: None,
            user_agent: text(USER_AGENT).as_deref().map(loggable),
            request_id,
            content_length: declared.unwrap_or_default(),
            at: app.clock.now(),
        }
    }

    /// Notes how long the body was.
    pub fn note_bytes(&mut self, bytes: u64) {
        self.content_length = i64::try_from(bytes).unwrap_or(i64::MAX);
    }

    /// Notes whose page answers, if a person is to read it.
    pub(super) fn note_page(&mut self, webhook: &Webhook, headers: &HeaderMap) {
        self.page = PageOf::request(webhook, headers);
    }

    /// A refusal as the sender reads it.
    pub(super) fn refusal(&self, error: ApiError) -> Response {
        match self.page {
            Some(PageOf::Form) => form_page::refusal(error),
            Some(PageOf::Chat) => chats::page::refusal(error),
            None => error.into_response(),
        }
    }

    pub(super) fn line(
        self,
        pattern_id: Option<PatternId>,
        status: WebhookStatus,
        status_code: StatusCode,
    ) -> LogRow {
        LogRow {
            id: WebhookLogId::new(),
            webhook_id: self.webhook_id,
            pattern_id,
            status,
            status_code: status_code.as_u16().into(),
            rejection_reason: None,
            ip_address: text_of(self.ip.0),
            user_agent: self.user_agent,
            content_length: self.content_length,
            request_id: self.request_id,
            run_id: None,
            created_at: self.at,
        }
    }
}

/// An address as text. Those that most have are written digit by digit: this is done for each request, and formatting takes
/// several times as long.
fn text_of(address: IpAddr) -> String {
    let IpAddr::V4(address) = address else {
        return address.to_string();
    };
    let mut text = String::with_capacity("255.255.255.255".len());
    for octet in address.octets() {
        if !text.is_empty() {
            text.push('.');
        }
        if octet >= 100 {
            text.push(char::from(b'0' + octet / 100));
        }
        if octet >= 10 {
            text.push(char::from(b'0' + octet / 10 % 10));
        }
        text.push(char::from(b'0' + octet % 10));
    }
    text
}

fn loggable(text: &str) -> String {
    // As nearly always.
    if text.len() <= LOGGED_CHARS_MAX && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    text.chars()
        .filter(|c| !c.is_control())
        .take(LOGGED_CHARS_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn addresses_are_written_as_usual() {
        for octet in 0..=255 {
            let address = IpAddr::V4(Ipv4Addr::new(octet, 0, 10, octet));
            assert_eq!(text_of(address), address.to_string());
        }
        let address = IpAddr::V6(Ipv6Addr::LOCALHOST);
        assert_eq!(text_of(address), address.to_string());
    }
}
