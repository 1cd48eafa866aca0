//! Connections in bounded number: a listener that closes the oldest stranger when too many are open.
//!
//! A connection is a stranger until a request on it has shown the cookie. Strangers live for a few seconds only, so
//! somebody who opens sockets without end takes neither descriptors nor the place of the user.

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use std::collections::VecDeque;
use std::io::{Error, Result};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Sleep, sleep};

/// Open connections at most. A browser opens about ten.
const OPEN_MAX: usize = 256;
/// A stranger's time.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether a request on the connection has shown the cookie.
#[derive(Clone, Debug, Default)]
pub struct Trust(Arc<AtomicBool>);

impl Trust {
    /// It has.
    pub fn grant(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_granted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A listener with a bounded number of connections.
pub struct Bounded {
    listener: TcpListener,
    open: VecDeque<(Trust, oneshot::Sender<()>)>,
}

impl Bounded {
    /// Accepts from this socket.
    pub fn new(listener: TcpListener) -> Bounded {
        Bounded { listener, open: VecDeque::new() }
    }

    /// Makes room: forgets closed connections; then closes the oldest stranger, or without one the oldest of all.
    fn make_room(&mut self) {
        self.open.retain(|(_, close)| !close.is_closed());
        if self.open.len() >= OPEN_MAX {
            let stranger = self.open.iter().position(|(trust, _)| !trust.is_granted());
            self.open.remove(stranger.unwrap_or(0));
        }
    }
}

impl Listener for Bounded {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    self.make_room();
                    let (trust, (close, closed)) = (Trust::default(), oneshot::channel());
                    self.open.push_back((trust.clone(), close));
                    let patience = Box::pin(sleep(PATIENCE));
                    return (Connection { stream, trust, closed, patience }, address);
                }
                // Descriptors have run out, or the other side has gone: the next one may be better.
                Err(_) => sleep(Duration::from_millis(50)).await,
            }
        }
    }

    fn local_addr(&self) -> Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that ends by itself when it is a stranger's for too long, or when its place is needed.
pub struct Connection {
    stream: TcpStream,
    trust: Trust,
    closed: oneshot::Receiver<()>,
    patience: Pin<Box<Sleep>>,
}

impl Connection {
    fn has_ended(&mut self, context: &mut Context<'_>) -> bool {
        let is_closed = Pin::new(&mut self.closed).poll(context).is_ready();
        is_closed || (!self.trust.is_granted() && self.patience.as_mut().poll(context).is_ready())
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        if self.has_ended(context) {
            return Poll::Ready(Err(Error::from(std::io::ErrorKind::TimedOut)));
        }
        Pin::new(&mut self.stream).poll_read(context, bytes)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl Connected<IncomingStream<'_, Bounded>> for Trust {
    fn connect_info(stream: IncomingStream<'_, Bounded>) -> Trust {
        stream.io().trust.clone()
    }
}
