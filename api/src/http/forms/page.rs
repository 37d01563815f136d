//! What people see at a form's address: the form, what became of what they sent, and where they go on. Without script, and
//! with every text escaped.

use super::fields::{self, Filled};
use crate::http::error::ApiError;
use crate::http::pages::{self, Page, Refusals, STYLE, escaped};
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, LOCATION, REFRESH};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_execution::{Ended, OpenStep};
use heddle_model::Code;
use heddle_model::form::{Choice, Field, FieldError, Form};
use heddle_model::status::RunStatus;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::sync::LazyLock;

/// The hidden field that tells one answer from another, so that none counts twice. No field of a form has such a name.
pub const TOKEN: &str = "_token";
/// What forms look like besides.
const FORM_STYLE: &str = "body{padding:2rem 1rem;box-sizing:border-box}main{width:min(40rem,100%);padding:2.25rem;\
    box-shadow:0 1px 3px light-dark(#1c243018,#0006)}h1{font-size:1.6rem;line-height:1.25;margin-bottom:.75rem}\
    form{margin-top:1.75rem}.field{margin:0 0 1.5rem;padding:0;border:0;min-width:0}\
    label,legend{display:block;font-weight:600;padding:0;margin-bottom:.3rem}.choice label{margin:0;font-weight:400}\
    .optional{font-weight:400;color:light-dark(#566172,#9aa6b5)}.help{margin:0 0 .4rem;color:light-dark(#566172,#9aa6b5)}\
    input,textarea,select{box-sizing:border-box;font:inherit;color:inherit;background:light-dark(#fff,#12171c);\
    border:1px solid light-dark(#7d8896,#6b7684);border-radius:6px;padding:.55rem .7rem;width:100%}\
    textarea{resize:vertical}input[type=file]{padding:.5rem}\
    input[type=number],input[type=date],input[type=time]{width:min(14rem,100%)}\
    input[type=checkbox],input[type=radio]{width:1.2rem;height:1.2rem;margin:.15rem 0 0;flex:none;padding:0;\
    accent-color:light-dark(#0b6e6e,#5cc8c0)}::placeholder{color:light-dark(#667180,#8b97a5);opacity:1}\
    :is(input,textarea,select,.summary,a):focus-visible{outline:3px solid light-dark(#0b7f7f,#5cc8c0);outline-offset:2px}\
    .choice{display:flex;gap:.6rem;padding:.3rem 0}.wrong{border-left:4px solid light-dark(#b3261e,#ff8a80);padding-left:1rem}\
    .wrong :is(input:not([type=radio],[type=checkbox]),textarea,select){border-color:light-dark(#b3261e,#ff8a80)}\
    .mistake{margin:0 0 .4rem;font-weight:600;color:light-dark(#b3261e,#ff8a80)}\
    .summary{border:2px solid light-dark(#b3261e,#ff8a80);border-radius:8px;padding:1rem 1.25rem;margin:1.5rem 0 0}\
    .summary h2{margin:0 0 .4rem;font-size:1.05rem}.summary ul{margin:0;padding-left:1.1rem}\
    .summary a{color:light-dark(#b3261e,#ff8a80)}\
    .unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}\
    @media(max-width:30rem){body{padding:0;place-items:start stretch}main{border-radius:0;min-height:100vh;padding:1.5rem 1.25rem}}";

/// Nothing but this style, and what a form is sent to: the service itself, and where its answer leads, if it may lead away,
/// since browsers count that as sending it there.
fn policy(leads_away: bool) -> HeaderValue {
    static STYLE_HASH: LazyLock<String> =
        LazyLock::new(|| STANDARD.encode(Sha256::digest(format!("{STYLE}{FORM_STYLE}"))));
    let away = if leads_away { " https: http:" } else { "" };
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; form-action 'self'{away}; base-uri 'none'; frame-ancestors 'none'",
        *STYLE_HASH
    );
    // Base64 is a header's text.
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}

fn all(text: &str) -> String {
    escaped(text, usize::MAX)
}

/// Characters of a page's title where several are listed: what somebody has typed may be in each of them.
const LISTED_CHARS_MAX: usize = 200;
/// Bytes that a field and a choice take on a page besides their texts.
const FIELD_BYTES: usize = 300;
const CHOICE_BYTES: usize = 150;

/// How many bytes a form has on its page, roughly, without what is typed in it.
pub fn bytes(form: &Form) -> usize {
    let of_field = |field: &Field| {
        let of_choice =
            |choice: &Choice| CHOICE_BYTES + field.name.len() + choice.value.len() + choice.label.len();
        let texts = [&field.name, &field.label, &field.help, &field.placeholder];
        let texts = texts.into_iter().chain(&field.default).map(String::len);
        FIELD_BYTES + texts.sum::<usize>() + field.choices.iter().map(of_choice).sum::<usize>()
    };
    let fields = form.fields.iter().map(of_field);
    form.title.len() + form.description.len() + fields.sum::<usize>()
}

/// The form with what is typed in it, and what is wrong with that: 422 if something is.
pub fn form(
    form: &Form,
    leads_away: bool,
    (token, filled): (&str, &Filled),
    mistakes: &[FieldError],
) -> Response {
    let mistakes = filled.messages(mistakes);
    let mistakes = mistakes.as_slice();
    let mut body = format!("<h1>{}</h1>", all(&form.title));
    // Writing to a String can't fail.
    if !form.description.is_empty() {
        let _ = write!(body, "<p class=\"text\">{}</p>", all(&form.description));
    }
    body.push_str(&summary(form, mistakes));
    let has_files = form.file_fields().next().is_some();
    let encoded = if has_files {
        " enctype=\"multipart/form-data\""
    } else {
        ""
    };
    let _ = write!(body, "<form method=\"post\"{encoded}>");
    // The address of a further page works once by itself.
    if !token.is_empty() {
        let token = all(token);
        let _ = write!(body, "<input type=\"hidden\" name=\"{TOKEN}\" value=\"{token}\">");
    }
    for (place, field) in form.fields.iter().enumerate() {
        let mistake = mistakes.iter().find(|mistake| mistake.field == place);
        let message = mistake.map(|mistake| mistake.message.as_str());
        body.push_str(&fields::field(field, place, filled, message));
    }
    let _ = write!(body, "<button>{}</button></form>", all(&form.button));
    let title = match mistakes.is_empty() {
        true => all(&form.title),
        false => format!("Error: {}", all(&form.title)),
    };
    let mut response = page(Response::new(Body::empty()), &title, &body, leads_away);
    if !mistakes.is_empty() {
        *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    }
    response
}

/// All mistakes with links to their fields, where a reader of the page begins.
fn summary(form: &Form, mistakes: &[FieldError]) -> String {
    if mistakes.is_empty() {
        return String::new();
    }
    let mut items = String::new();
    for mistake in mistakes {
        let Some(field) = form.fields.get(mistake.field) else {
            continue;
        };
        let text = format!("{}: {}", all(&field.label), all(&mistake.message));
        // Writing to a String can't fail.
        let _ = match fields::target(field, mistake.field) {
            Some(target) => write!(items, "<li><a href=\"#{target}\">{text}</a></li>"),
            None => write!(items, "<li>{text}</li>"),
        };
    }
    format!(
        "<div class=\"summary\" role=\"alert\" tabindex=\"-1\" autofocus><h2>Please check your answers</h2>\
         <ul>{items}</ul></div>"
    )
}

/// The answers have arrived: thanks, or the page to which the form leads.
pub fn sent(form: &Form) -> Response {
    if let Some(address) = form
        .redirect
        .as_deref()
        .and_then(|to| HeaderValue::from_str(to).ok())
    {
        let mut response = StatusCode::SEE_OTHER.into_response();
        response.headers_mut().insert(LOCATION, address);
        return response;
    }
    let text = format!("<p class=\"text\">{}</p>", all(&form.thanks));
    message_page(Response::new(Body::empty()), "Thank you", &text)
}

/// What people see whose run has ended, or goes on without them, and has not answered itself.
pub fn ended(form: &Form, ended: &Ended) -> Response {
    match (&ended.error, ended.status) {
        (_, RunStatus::Success) => sent(form),
        (Some(error), _) if error.code == "TIMEOUT" => refusal(Code::ExecutionTimeout.into()),
        _ => failed(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

/// Leads to another page, by an address relative to this one.
pub fn lead(address: &str) -> Response {
    match HeaderValue::from_str(address) {
        Ok(address) => (
            StatusCode::SEE_OTHER,
            [(LOCATION, address), (CACHE_CONTROL, no_store())],
        )
            .into_response(),
        Err(_) => refusal(Code::Internal.into()),
    }
}

fn no_store() -> HeaderValue {
    HeaderValue::from_static("no-store")
}

/// The next page is not there yet.
pub fn moment(address: &str) -> Response {
    let text = "The next page is being prepared. This page looks for it every few seconds.";
    later(address, 5, ("One moment", text))
}

/// The next page is not there yet, and won't be before something else has happened.
pub fn elsewhere(address: &str) -> Response {
    let text = "Your answers have arrived. Something else has to happen before the next page, such as an approval. This page \
                looks for it every half minute.";
    later(address, 30, ("There is nothing to fill in right now", text))
}

/// Browsers look again at this address by themselves, and people by the link.
fn later(address: &str, seconds: u32, (title, text): (&str, &str)) -> Response {
    let text = format!("<p>{text}</p><p><a href=\"{}\">Look now</a></p>", all(address));
    let mut response = message_page(Response::new(Body::empty()), title, &text);
    if let Ok(refresh) = HeaderValue::from_str(&format!("{seconds}; url={address}")) {
        response.headers_mut().insert(REFRESH, refresh);
    }
    response
}

/// Several pages are open at a time.
pub fn choice(open: &[OpenStep], to: impl Fn(&OpenStep) -> String) -> Response {
    let mut text =
        "<p>These pages are open. Each can be sent once; come back here for the others.</p><ul>".to_owned();
    for step in open {
        // An expression may have made it of nothing.
        let title = match step.title.trim() {
            "" => "Next page",
            title => title,
        };
        let title = escaped(title, LISTED_CHARS_MAX);
        // Writing to a String can't fail.
        let _ = write!(text, "<li><a href=\"{}\">{title}</a></li>", all(&to(step)));
    }
    text.push_str("</ul>");
    message_page(Response::new(Body::empty()), "What comes next", &text)
}

/// The same answers came again: the page was reloaded, or the button pressed twice.
pub fn sent_before() -> Response {
    let text = "<p>You have already sent this. It arrived the first time, and nothing more was done now.</p>";
    message_page(Response::new(Body::empty()), "Your answers have arrived", text)
}

/// The answers have arrived, but what was to be done with them failed.
pub fn failed(status: StatusCode) -> Response {
    let text = "<p>Your answers have arrived, but something went wrong with them. Please tell the person who gave you this form.</p>";
    message_page(status.into_response(), "Something went wrong", text)
}

/// How it is said that there is no form, or that an answer was not taken.
const REFUSALS: Refusals = Refusals {
    missing: "There is no form here",
    forbidden: (
        "You can't use this form",
        "It does not accept answers from your network.",
    ),
    closed: (
        "This form is closed for now",
        "It is not accepting answers right now. Please try again later.",
    ),
    too_much: "Your answers were not accepted. Please wait a minute and try again.",
    too_large: "Your answers were not accepted. Go back, and choose smaller files or write less.",
    longer: "Your answers have arrived; processing them is taking longer than usual.",
    not_taken: "Your answers were not accepted",
};

/// Says why there is no form, or why it was not taken.
pub fn refusal(error: ApiError) -> Response {
    let (title, text) = REFUSALS.of(&error);
    message_page(error.into_response(), title, &format!("<p>{text}</p>"))
}

fn message_page(response: Response, title: &str, text: &str) -> Response {
    page(response, title, &format!("<h1>{title}</h1>{text}"), false)
}

fn page(response: Response, title: &str, body: &str, leads_away: bool) -> Response {
    let page = Page {
        title,
        style: FORM_STYLE,
        body,
        policy: policy(leads_away),
    };
    pages::put(response, page)
}
