//! What lies between a server and its database: it can be cut, stand still, and be slow.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

pub struct Wire {
    pub address: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    goes_on: Condvar,
}

#[derive(Default)]
struct State {
    is_cut: bool,
    stands_still: bool,
    delay: Duration,
    open: Vec<TcpStream>,
}

impl Wire {
    pub fn to(target: String) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::<Shared>::default();
        let wire = Wire {
            address,
            shared: shared.clone(),
        };
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let mut state = shared.state.lock().unwrap();
                if state.is_cut {
                    continue;
                }
                let far = TcpStream::connect(&target).unwrap();
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let shared = shared.clone();
                    std::thread::spawn(move || {
                        // However it ends, the other way ends as well.
                        let _ = shared.carry(&from, &to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
                state.open.extend([near, far]);
            }
        });
        wire
    }

    /// To the database of this URL; and the URL by which it is reached so.
    pub fn before(url: &str) -> (Wire, String) {
        let (user, rest) = url.split_once('@').unwrap();
        let (target, name) = rest.split_once('/').unwrap();
        let wire = Wire::to(target.to_owned());
        let url = format!("{user}@{}/{name}?sslmode=disable", wire.address);
        (wire, url)
    }

    pub fn cut(&self) {
        let mut state = self.shared.state.lock().unwrap();
        state.is_cut = true;
        for stream in state.open.drain(..) {
            // It may have ended by itself.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub fn mend(&self) {
        self.shared.state.lock().unwrap().is_cut = false;
    }

    /// From now on everything takes so much longer, each way.
    pub fn slow_down(&self, delay: Duration) {
        self.shared.state.lock().unwrap().delay = delay;
        self.shared.goes_on.notify_all();
    }

    /// Nothing comes through, and nothing is closed, until it goes on.
    pub fn stand_still(&self, stands_still: bool) {
        self.shared.state.lock().unwrap().stands_still = stands_still;
        self.shared.goes_on.notify_all();
    }
}

impl Shared {
    fn carry(&self, mut from: &TcpStream, mut to: &TcpStream) -> std::io::Result<()> {
        let mut bytes = vec![0; 64 << 10];
        loop {
            let count = from.read(&mut bytes)?;
            if count == 0 {
                return Ok(());
            }
            let state = self.state.lock().unwrap();
            let state = self
                .goes_on
                .wait_while(state, |state| state.stands_still)
                .unwrap();
            let delay = state.delay;
            let waited = self
                .goes_on
                .wait_timeout_while(state, delay, |state| state.delay == delay);
            drop(waited.unwrap());
            to.write_all(&bytes[..count])?;
        }
    }
}
