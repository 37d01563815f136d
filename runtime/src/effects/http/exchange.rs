//! One request with the redirects that follow it. Credentials stay with their origin.

use super::super::open_streams::{Live, Place};
use super::address::place;
use super::answer::{Answer, Content, file_of, result_of};
use super::auth::Auth;
use super::body::Payload;
use super::context::HttpNeeds;
use super::failure::{failed, guarded, send_error};
use super::headers::{IDEMPOTENCY_KEY, OWN_HEADERS, header_name, header_value};
use super::request::{BodyUse, Request};
use crate::egress::GuardedHttp;
use crate::secrets::Vault;
use heddle_sandbox::EffectError;
use reqwest::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue, LOCATION,
};
use reqwest::{Method, Response, StatusCode, Url};

const REDIRECTS_MAX: usize = 10;

/// A request about to be sent.
#[derive(Clone)]
pub(super) struct Exchange {
    method: Method,
    pub url: Url,
    headers: HeaderMap,
    body: Option<Payload>,
    /// The header that credentials are in.
    auth_header: Option<HeaderName>,
    follow_redirects: bool,
    wanted: BodyUse,
    /// Room for the response, if it is read while it arrives.
    room: Option<Place>,
    /// First and last of the statuses of which that is so; otherwise all of 2xx.
    accepted: Option<Vec<(f64, f64)>>,
    /// Whether others follow, whose answers are in the same result.
    is_page: bool,
}

impl Exchange {
    pub async fn new(request: Request, url: Url, context: &HttpNeeds) -> Result<Self, EffectError> {
        let method = Method::from_bytes(request.method.to_ascii_uppercase().as_bytes())
            .ok()
            .filter(|method| *method != Method::CONNECT && *method != Method::TRACE)
            .ok_or_else(|| EffectError::parameter(format!("`{}` is not an HTTP method.", request.method)))?;
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
                .unwrap_or(&context.idempotency_key.0);
            headers.insert(IDEMPOTENCY_KEY, header_value("Idempotency-Key", key)?);
        }
        let body = match request.body {
            None => None,
            Some(body) => Some(Payload::of(body, context).await?),
        };
        // Before anything is sent: what there is no room for is not asked for.
        let room = match request.response.live() {
            Some(_) => Some(context.streams.place()?),
            None => None,
        };
        Ok(Exchange {
            method,
            url,
            headers,
            body,
            auth_header: None,
            follow_redirects: request.follow_redirects,
            wanted: request.response,
            room,
            accepted: request.accepted,
            is_page: false,
        })
    }

    pub fn authorize(&mut self, auth: Auth, vault: &Vault) -> Result<(), EffectError> {
        self.auth_header = auth.apply(&mut self.headers, &mut self.url, vault)?;
        Ok(())
    }

    /// This request, for the first page of several.
    pub fn for_pages(self) -> Self {
        Exchange {
            is_page: true,
            ..self
        }
    }

    /// This request, to the address of the next page.
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
        context: &HttpNeeds,
    ) -> Result<Answer, EffectError> {
        for _ in 0..=REDIRECTS_MAX {
            if let Some(body) = &self.body {
                context.egress.count(body.file_bytes());
            }
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
        let client = match self.room {
            Some(_) => clients.client_apart(&self.url),
            None => clients.client(&self.url),
        };
        let mut request = client
            .map_err(guarded)?
            .request(self.method.clone(), self.url.clone())
            .headers(self.headers.clone());
        if let Some(body) = &self.body {
            request = body.put(request);
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
                    "{} redirected to something that is not a URL.",
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
        if self.body.as_ref().is_some_and(|body| body.has_secret(vault)) {
            let message = format!(
                "{} redirected to {}, but the body contains a secret, which is only sent to the original \
                 address.",
                place(&self.url),
                place(next)
            );
            return Err(failed(message));
        }
        // Who was sent it in an address can name it in the next one.
        let is_upgrade = next.scheme() == "https"
            && next.host_str() == self.url.host_str()
            && (next.port(), self.url.port()) == (None, None);
        if !is_upgrade && vault.is_in(next.as_str().as_bytes()) {
            let message = format!(
                "{} led to {}, in an address that contains a secret, which is only sent to the original one.",
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

    async fn read(self, response: Response, context: &HttpNeeds) -> Result<Answer, EffectError> {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let is_wanted = (200..300).contains(&status);
        // Of what the node refuses it needs the text, and nobody could close the stream.
        let is_accepted = self.accepted.as_ref().is_none_or(|ranges| {
            let status = f64::from(status);
            ranges
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&status))
        });
        let live = self.wanted.live().zip(self.room);
        let live = live.filter(|_| is_wanted && is_accepted);
        let content = match (live, self.wanted) {
            (Some(_), _) if is_by_brotli(&headers) => {
                return Err(failed(format!(
                    "{} compressed its response with brotli, which is not supported for responses that are read while they \
                     arrive: have it use `gzip` or no compression, as the request's Accept-Encoding asks unless the node sets \
                     that header itself.",
                    place(&self.url)
                )));
            }
            (Some((framing, room)), _) => {
                let url = self.url.clone();
                Content::Live(Box::new(Live {
                    response,
                    framing,
                    _place: room,
                    failure: Box::new(move |error: &reqwest::Error| send_error(error, &url)),
                }))
            }
            (None, BodyUse::File) if is_wanted => {
                Content::File(file_of(response, &self.url, &*context.files).await?)
            }
            _ => {
                // Nobody can tell it of what is compressed, and of pages that are to come.
                let told = response.content_length().filter(|_| !self.is_page);
                let bytes = (told, context.bounds.result_bytes_max);
                Content::Bytes(result_of(response, &self.url, bytes, &context.place).await?)
            }
        };
        Ok(Answer {
            status,
            headers,
            content,
            url: self.url,
        })
    }
}

/// Of what was decompressed this is no longer said.
fn is_by_brotli(headers: &HeaderMap) -> bool {
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
    encodings.any(|encoding| {
        let mut named = encoding.as_bytes().split(|byte| *byte == b',');
        named.any(|name| name.trim_ascii().eq_ignore_ascii_case(b"br"))
    })
}
