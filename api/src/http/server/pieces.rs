//! A large body on its way out, piece by piece: the system copies a piece at a time, and what else waits for the thread, as
//! webhooks do, has its turn between two of them. Knows nothing of what is sent.

use axum::body::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Bytes of a piece: the system copies them in some ten microseconds. hyper asks once more before it gives way, so that two of them
/// leave at a time.
const PIECE_BYTES: usize = 64 << 10;

/// A body whose frames are cut.
pub(super) struct InPieces<B> {
    body: B,
    /// What is left of a frame.
    rest: Bytes,
    /// Whether others had their turn since the last piece.
    has_given_way: bool,
}

impl<B> InPieces<B> {
    pub fn new(body: B) -> Self {
        InPieces {
            body,
            rest: Bytes::new(),
            has_given_way: false,
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for InPieces<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.get_mut();
        if this.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                other => return Poll::Ready(other),
            };
            match frame.into_data() {
                Ok(bytes) => this.rest = bytes,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        } else if !this.has_given_way {
            this.has_given_way = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        this.has_given_way = false;
        let piece = this.rest.split_to(this.rest.len().min(PIECE_BYTES));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, of_body) = (self.rest.len() as u64, self.body.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(of_body.lower().saturating_add(rest));
        if let Some(upper) = of_body.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body as AnyBody;
    use http_body_util::BodyExt;

    #[tokio::test]
    async fn pieces_make_the_whole_whose_size_is_known_all_along() {
        for length in [0, 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES + 7] {
            let whole: Vec<u8> = (0..=250).cycle().take(length).collect();
            let mut body = InPieces::new(AnyBody::from(whole.clone()));
            let mut sent = Vec::new();
            while !body.is_end_stream() {
                let left = u64::try_from(length - sent.len()).unwrap();
                assert_eq!(body.size_hint().exact(), Some(left));
                let piece = body.frame().await.unwrap().unwrap().into_data().unwrap();
                assert!(!piece.is_empty() && piece.len() <= PIECE_BYTES);
                sent.extend_from_slice(&piece);
            }
            assert_eq!(sent, whole);
            assert!(body.frame().await.is_none());
        }
    }

    #[test]
    fn others_have_their_turn_between_two_pieces() {
        let mut body = InPieces::new(AnyBody::from(vec![7; 2 * PIECE_BYTES]));
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut is_ready = || Pin::new(&mut body).poll_frame(&mut cx).is_ready();
        assert_eq!([is_ready(), is_ready(), is_ready()], [true, false, true]);
    }
}
