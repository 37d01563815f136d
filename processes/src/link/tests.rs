//! Both ends of a link in one process.

use super::{Frame, LinkLimits, LinkReceiver, LinkSender, link};
use std::os::unix::net::UnixStream;

const LIMITS: LinkLimits = LinkLimits {
    sent_bytes_max: 1 << 20,
    received_bytes_max: 1 << 20,
    waiting_bytes_max: 1 << 30,
    takes_descriptors: false,
};

fn linked() -> [(LinkSender, LinkReceiver); 2] {
    let sockets: [UnixStream; 2] = UnixStream::pair().unwrap().into();
    sockets.map(|socket| {
        socket.set_nonblocking(true).unwrap();
        link(socket, LIMITS).unwrap()
    })
}

fn frame(body: &[u8]) -> Frame {
    let mut frame = Frame::new();
    frame.extend(body);
    frame
}

#[tokio::test]
async fn what_is_queued_is_sent_by_whoever_sends_next() {
    let [(sender, _), (_, mut receiver)] = linked();
    sender.queue(frame(b"a"), Vec::new()).unwrap();
    assert_eq!(receiver.fill_now().unwrap(), None);
    sender.send(frame(b"b")).unwrap();
    assert_eq!(receiver.fill_now().unwrap(), Some(true));
    assert_eq!(receiver.take_frame().unwrap(), Some(b"a".as_slice()));
    assert_eq!(receiver.take_frame().unwrap(), Some(b"b".as_slice()));
    sender.queue(frame(b"c"), Vec::new()).unwrap();
    assert_eq!(receiver.fill_now().unwrap(), None);
    sender.flush().unwrap();
    assert_eq!(receiver.fill_now().unwrap(), Some(true));
    assert_eq!(receiver.take_frame().unwrap(), Some(b"c".as_slice()));
}

#[tokio::test]
async fn frames_that_come_in_parts_are_whole() {
    let [(sender, own), (_, mut receiver)] = linked();
    let (own, waiting) = (own.waiter(), receiver.waiter());
    // Some begin in what is read at a time and end in what is read next, and some are larger.
    let lengths = [1, 60_000, 10_000, 0, 150_000, 65_532, 65_536, 7];
    for (number, length) in (0_u8..).zip(lengths) {
        sender.send(frame(&vec![number; length])).unwrap();
    }
    for (number, length) in (0_u8..).zip(lengths) {
        let heard = loop {
            if let Some(heard) = receiver.take_frame().unwrap() {
                break heard.to_vec();
            }
            tokio::select! {
                ready = waiting.readable() => ready.unwrap(),
                // It sends what the socket had no room for.
                _ = own.readable() => panic!("nobody speaks to this side"),
            }
            receiver.fill_ready().unwrap();
        };
        assert_eq!(heard, vec![number; length]);
    }
    assert_eq!(receiver.take_frame().unwrap(), None);
}

#[tokio::test]
async fn whoever_flushes_is_told_that_nobody_reads_any_more() {
    let [(sender, receiver), other] = linked();
    drop(other);
    sender.queue(frame(b"a"), Vec::new()).unwrap();
    assert!(sender.flush().is_err());
    assert!(sender.flush().is_err());
    assert!(sender.queue(frame(b"b"), Vec::new()).is_err());
    drop(receiver);
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{LIMITS, frame};
    use crate::frame::HEADER_BYTES;
    use crate::link::link;
    use std::fs;
    use std::future::poll_fn;
    use std::io::Read;
    use std::os::fd::{AsRawFd, RawFd};
    use std::os::unix::net::UnixStream;
    use std::pin::{Pin, pin};
    use std::task::Poll;

    /// `EPOLLOUT`.
    const TO_BE_WRITTEN: u32 = 4;
    const FRAME_BYTES: usize = 64 << 10;

    /// Whether this process waits until one of these can be written to.
    fn waits_to_write(descriptors: [RawFd; 2]) -> bool {
        let open = fs::read_dir("/proc/self/fdinfo").unwrap();
        // One may be closed meanwhile.
        let told = open.filter_map(|entry| fs::read_to_string(entry.ok()?.path()).ok());
        told.collect::<String>().lines().any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            matches!(words.as_slice(), ["tfd:", descriptor, "events:", events, ..]
                if descriptors.contains(&descriptor.parse().unwrap())
                    && u32::from_str_radix(events, 16).unwrap() & TO_BE_WRITTEN > 0)
        })
    }

    async fn is_pending(mut waiting: Pin<&mut impl Future>) -> bool {
        poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx).is_pending())).await
    }

    #[tokio::test]
    async fn nobody_waits_to_write_while_the_socket_takes_what_is_said() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let (sender, receiver) = link(ours, LIMITS).unwrap();
        let shared = &*sender.0;
        let descriptors = [shared.socket.as_raw_fd(), shared.full.as_raw_fd()];
        let waiter = receiver.waiter();
        let mut waiting = pin!(waiter.readable());
        assert!(is_pending(waiting.as_mut()).await);
        assert!(!waits_to_write(descriptors));
        let mut frames = 0;
        while !shared.queue().is_blocked {
            sender.send(frame(&vec![0; FRAME_BYTES])).unwrap();
            frames += 1;
        }
        assert!(is_pending(waiting.as_mut()).await);
        assert!(waits_to_write(descriptors));
        let reading = std::thread::spawn(move || {
            let mut all = vec![0; frames * (HEADER_BYTES + FRAME_BYTES)];
            theirs.read_exact(&mut all).unwrap();
            theirs
        });
        while shared.queue().is_blocked {
            assert!(is_pending(waiting.as_mut()).await);
            tokio::task::yield_now().await;
        }
        let _theirs = reading.join().unwrap();
        assert!(is_pending(waiting.as_mut()).await);
        assert!(!waits_to_write(descriptors));
    }
}
