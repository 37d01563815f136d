//! One request with the redirects that follow it, and its answer. Credentials stay with their origin.

use super::auth::Auth;
use super::failure::{failed, guarded, send_error};
use super::{Body, EffectContext, EffectError, EffectResult, IDEMPOTENCY_KEY, OWN_HEADERS, Request};
use super::{header_name, header_value, place};
use crate::egress::GuardedHttp;
use crate::secrets::Vault;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName,
    HeaderValue, LOCATION, RETRY_AFTER,
};
use reqwest::{Method, Response, StatusCode, Url};
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant, SystemTime};

const REDIRECTS_MAX: usize = 10;

/// A request about to be sent.
#[derive(Clone)]
pub(super) struct Exchange {
    method: Method,
    pub url: Url,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
    /// The header that credentials are in.
    auth_header: Option<HeaderName>,
    follow_redirects: bool,
}

impl Exchange {
    pub fn new(request: Request, url: Url, context: &EffectContext) -> Result<Self, EffectError> {
        let method = Method::from_bytes(request.method.to_ascii_uppercase().as_bytes())
            .ok()
            .filter(|method| *method != Method::CONNECT && *method != Method::TRACE)
            .ok_or_else(|| {
                EffectError::parameter(format!("`{}` is no method for a request.", request.method))
            })?;
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            if !OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
                headers.append(header_name(name)?, header_value(name, value)?);
            }
        }
        if !headers.contains_key(IDEMPOTENCY_KEY) {
            let key = request
                .idempotency_key
                .as_deref()
                .unwrap_or(&context.idempotency_key);
            headers.insert(IDEMPOTENCY_KEY, header_value("Idempotency-Key", key)?);
        }
        let body = match request.body {
            None => None,
            Some(Body::Text(text)) => Some(text.into_bytes()),
            Some(Body::Base64(text)) => Some(
                STANDARD
                    .decode(text)
                    .map_err(|error| EffectError::parameter(format!("The body is no base64: {error}.")))?,
            ),
        };
        Ok(Exchange {
            method,
            url,
            headers,
            body,
            auth_header: None,
            follow_redirects: request.follow_redirects,
        })
    }

    pub fn authorize(&mut self, auth: Auth, vault: &Vault) -> Result<(), EffectError> {
        self.auth_header = auth.apply(&mut self.headers, &mut self.url, vault)?;
        Ok(())
    }

    /// The same request to the next page.
    pub fn moved(mut self, next: Url, vault: &Vault) -> Result<Self, EffectError> {
        self.move_to(next, vault)?;
        Ok(self)
    }

    fn move_to(&mut self, next: Url, vault: &Vault) -> Result<(), EffectError> {
        if next.origin() != self.url.origin() {
            self.leave_origin(&next, vault)?;
        }
        self.url = next;
        Ok(())
    }

    /// Sends it and follows redirects.
    pub async fn perform(
        mut self,
        clients: &GuardedHttp,
        context: &EffectContext,
    ) -> Result<Answer, EffectError> {
        for _ in 0..=REDIRECTS_MAX {
            let response = self.send(clients).await?;
            match self.redirect(&response, &context.vault)? {
                true => continue,
                false => return self.read(response, context).await,
            }
        }
        Err(failed(format!(
            "{} redirected more than {REDIRECTS_MAX} times.",
            place(&self.url)
        )))
    }

    async fn send(&self, clients: &GuardedHttp) -> Result<Response, EffectError> {
        let mut request = clients
            .client(&self.url)
            .map_err(guarded)?
            .request(self.method.clone(), self.url.clone())
            .headers(self.headers.clone());
        if let Some(body) = &self.body {
            request = request.body(body.clone());
        }
        request
            .send()
            .await
            .map_err(|error| send_error(&error, &self.url))
    }

    /// Turns this into the request that follows `response`, if one does. Credentials stay with their origin.
    fn redirect(&mut self, response: &Response, vault: &Vault) -> Result<bool, EffectError> {
        let status = response.status();
        let followed = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) && self.follow_redirects;
        let Some(location) = response.headers().get(LOCATION).filter(|_| followed) else {
            return Ok(false);
        };
        let next = location
            .to_str()
            .ok()
            .and_then(|location| self.url.join(location).ok())
            .ok_or_else(|| {
                failed(format!(
                    "{} redirected to something that is no URL.",
                    place(&self.url)
                ))
            })?;
        let to_get = match status {
            StatusCode::SEE_OTHER => self.method != Method::HEAD,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => self.method == Method::POST,
            _ => false,
        };
        if to_get {
            self.method = Method::GET;
            self.body = None;
            self.headers.remove(CONTENT_TYPE);
            self.headers.remove(CONTENT_ENCODING);
        }
        self.move_to(next, vault)?;
        Ok(true)
    }

    fn leave_origin(&mut self, next: &Url, vault: &Vault) -> Result<(), EffectError> {
        if self.body.as_ref().is_some_and(|body| vault.is_in(body)) {
            let message = format!(
                "{} redirected to {}, but the body holds a secret, which only goes where it was addressed to.",
                place(&self.url),
                place(next)
            );
            return Err(failed(message));
        }
        let secret = |value: &HeaderValue| vault.is_in(value.as_bytes());
        let names: Vec<HeaderName> = self
            .headers
            .iter()
            .filter(|(_, value)| secret(value))
            .map(|(name, _)| name.clone())
            .collect();
        for name in names
            .into_iter()
            .chain([AUTHORIZATION, COOKIE])
            .chain(self.auth_header.take())
        {
            self.headers.remove(name);
        }
        Ok(())
    }

    async fn read(self, response: Response, context: &EffectContext) -> Result<Answer, EffectError> {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Ok(Answer {
            status,
            headers,
            body: body_of(response, &self.url, context.result_bytes_max).await?,
            url: self.url,
        })
    }
}

/// The body of an answer, of at most so many bytes after decompression: a small answer can't become a large one.
pub(super) async fn body_of(
    mut response: Response,
    url: &Url,
    bytes_max: usize,
) -> Result<Vec<u8>, EffectError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| send_error(&error, url))? {
        if chunk.len() > bytes_max.saturating_sub(body.len()) {
            return Err(failed(format!(
                "The answer of {} has more than the {} KiB allowed.",
                place(url),
                bytes_max >> 10
            )));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// What came back.
pub(super) struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// After redirects.
    pub url: Url,
}

impl Answer {
    /// The effect's result.
    pub fn into_value(self, context: &EffectContext) -> EffectResult {
        let mut result = json!({ "status": self.status, "headers": header_object(&self.headers) });
        if let Some(wait) = retry_after(&self.headers) {
            let too_late = Instant::now()
                .checked_add(wait)
                .is_none_or(|at| at >= context.deadline);
            result["retryAfter"] = match too_late {
                true => "never".into(),
                false => (wait.as_millis() as u64).into(),
            };
        }
        match String::from_utf8(self.body) {
            Ok(text) => result["text"] = text.into(),
            Err(error) => {
                let body = context.vault.mask_bytes(error.into_bytes());
                result["base64"] = STANDARD.encode(body).into();
            }
        }
        Ok(result)
    }
}

/// Retry-After (RFC 9110, section 10.2.3): seconds, or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Duration::from_secs(u64::from(seconds)));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

fn header_object(headers: &HeaderMap) -> Map<String, Value> {
    let mut object = Map::new();
    for name in headers.keys() {
        let mut values: Vec<Value> = headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned().into())
            .collect();
        let value = if values.len() == 1 {
            values.remove(0)
        } else {
            Value::Array(values)
        };
        object.insert(name.as_str().to_owned(), value);
    }
    // Lengths of what was compressed mean nothing any more.
    object.remove(CONTENT_LENGTH.as_str());
    object
}
