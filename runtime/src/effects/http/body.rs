//! Bodies of requests: bytes, or files between pieces of text, which are read while they are sent.

use super::super::stored_file::failed;
use super::context::HttpNeeds;
use super::request::{Body, Piece};
use crate::files::{FileFailure, Files};
use crate::secrets::Vault;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use heddle_sandbox::EffectError;
use reqwest::RequestBuilder;
use reqwest::header::CONTENT_LENGTH;
use std::sync::Arc;

/// A body that can be sent again.
#[derive(Clone)]
pub(super) enum Payload {
    Bytes(Bytes),
    Pieces {
        pieces: Arc<[Sent]>,
        files: Arc<dyn Files>,
        len: u64,
        file_bytes: u64,
    },
}

/// A piece, whose length is known.
#[derive(Clone)]
pub(super) enum Sent {
    Bytes(Bytes),
    File(String),
}

impl Payload {
    /// Of a request; files must be there.
    pub async fn of(body: Body, context: &HttpNeeds) -> Result<Self, EffectError> {
        let pieces = match body {
            Body::Text(text) => return Ok(Payload::Bytes(text.into())),
            Body::Base64(text) => return Ok(Payload::Bytes(decoded(text)?)),
            Body::File(file) => vec![Piece::File(file)],
            Body::Pieces(pieces) => pieces,
        };
        let (mut sent, mut len, mut file_bytes) = (Vec::with_capacity(pieces.len()), 0_u64, 0_u64);
        for piece in pieces {
            let (piece, bytes) = match piece {
                Piece::Text(text) => (Sent::Bytes(text.into()), None),
                Piece::Base64(text) => (Sent::Bytes(decoded(text)?), None),
                Piece::File(file) => {
                    let opened = context.files.open(&file.id, Some(0..0)).await;
                    let opened = opened.map_err(|failure| failed(&failure))?;
                    (Sent::File(file.id), Some(opened.value.size))
                }
            };
            let own = match &piece {
                Sent::Bytes(bytes) => bytes.len() as u64,
                Sent::File(_) => 0,
            };
            len = len.saturating_add(bytes.unwrap_or(own));
            file_bytes = file_bytes.saturating_add(bytes.unwrap_or(0));
            sent.push(piece);
        }
        Ok(Payload::Pieces {
            pieces: sent.into(),
            files: context.files.clone(),
            len,
            file_bytes,
        })
    }

    /// Puts it into a request.
    pub fn put(&self, request: RequestBuilder) -> RequestBuilder {
        match self {
            Payload::Bytes(bytes) => request.body(bytes.clone()),
            Payload::Pieces {
                pieces, files, len, ..
            } => {
                let (pieces, files) = (pieces.clone(), files.clone());
                let numbers = stream::iter(0..pieces.len());
                let content = numbers.then(move |number| {
                    let (piece, files) = (pieces.get(number).cloned(), files.clone());
                    async move {
                        Ok::<_, FileFailure>(match piece {
                            None => stream::empty().boxed(),
                            Some(Sent::Bytes(bytes)) => stream::iter([Ok(bytes)]).boxed(),
                            Some(Sent::File(id)) => files.open(&id, None).await?.content,
                        })
                    }
                });
                request
                    .header(CONTENT_LENGTH, *len)
                    .body(reqwest::Body::wrap_stream(content.try_flatten()))
            }
        }
    }

    /// Bytes of files, which no request has in it.
    pub fn file_bytes(&self) -> u64 {
        match self {
            Payload::Bytes(_) => 0,
            Payload::Pieces { file_bytes, .. } => *file_bytes,
        }
    }

    /// Whether a secret is in what the run itself has written.
    pub fn has_secret(&self, vault: &Vault) -> bool {
        match self {
            Payload::Bytes(bytes) => vault.is_in(bytes),
            Payload::Pieces { pieces, .. } => pieces.iter().any(|piece| match piece {
                Sent::Bytes(bytes) => vault.is_in(bytes),
                Sent::File(_) => false,
            }),
        }
    }
}

fn decoded(text: String) -> Result<Bytes, EffectError> {
    let bytes = STANDARD.decode(text);
    bytes
        .map(Bytes::from)
        .map_err(|error| EffectError::parameter(format!("The body is not valid base64: {error}.")))
}
