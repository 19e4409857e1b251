//! Clients that send one small request after another, and measure.

use anyhow::{Context as _, bail, ensure};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const REQUEST: &[u8] = b"GET /v1/models HTTP/1.1\r\nHost: llama.example\r\n\
    User-Agent: bench\r\nAccept: application/json\r\nAccept-Encoding: gzip\r\n\
    Authorization: Bearer sk-0123456789abcdef0123456789abcdef\r\n\r\n";
/// Larger than an answer.
const BUFFER_BYTES: usize = 8 << 10;
const LIMIT: Duration = Duration::from_secs(10);

/// Sends requests as fast as they are answered, and returns their number.
pub fn saturate(addr: SocketAddr, connections: usize, span: Duration) -> anyhow::Result<u64> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let end = Instant::now() + span;
        let mut clients = tokio::task::JoinSet::new();
        (0..connections).for_each(|_| drop(clients.spawn(send_until(addr, end))));
        let mut answered = 0;
        while let Some(client) = clients.join_next().await {
            answered += client??;
        }
        Ok(answered)
    })
}

async fn send_until(addr: SocketAddr, end: Instant) -> anyhow::Result<u64> {
    let mut stream = tokio::net::TcpStream::connect(addr).await?;
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut answered = 0;
    while Instant::now() < end {
        stream.write_all(REQUEST).await?;
        let mut filled = 0;
        loop {
            let count = stream.read(&mut buffer[filled..]).await?;
            ensure!(count > 0, "the connection ended");
            filled += count;
            if is_whole(&buffer[..filled])? {
                break;
            }
        }
        answered += 1;
    }
    Ok(answered)
}

/// Sends requests at a fixed rate, on as many connections, each from a thread of its own. Returns
/// the latency of each, from the time at which it was due if the answer to the one before was late.
pub fn paced(
    addr: SocketAddr,
    rate: u32,
    connections: usize,
    span: Duration,
) -> anyhow::Result<Vec<Duration>> {
    let count = usize::try_from(u64::from(rate) * span.as_secs())?;
    let begin = Instant::now() + Duration::from_millis(100);
    let pause = Duration::from_secs(1) / rate;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..connections)
            .map(|first| {
                scope.spawn(move || {
                    let mut stream = connect(addr)?;
                    let mut spans = Vec::new();
                    for request in (first..count).step_by(connections) {
                        spans.push(send_at(&mut stream, begin + pause * u32::try_from(request)?)?);
                    }
                    anyhow::Ok(spans)
                })
            })
            .collect();
        let mut all = Vec::with_capacity(count);
        for thread in threads {
            all.extend(thread.join().ok().context("a client has panicked")??);
        }
        Ok(all)
    })
}

fn send_at(stream: &mut TcpStream, due: Instant) -> anyhow::Result<Duration> {
    let early = due.saturating_duration_since(Instant::now());
    std::thread::sleep(early);
    // The sleep itself may take longer, which is not the proxy's doing.
    let begin = if early.is_zero() { due } else { Instant::now() };
    exchange(stream)?;
    Ok(begin.elapsed())
}

fn connect(addr: SocketAddr) -> anyhow::Result<TcpStream> {
    let stream =
        TcpStream::connect(addr).with_context(|| format!("failed to connect to {addr}"))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LIMIT))?;
    Ok(stream)
}

fn exchange(stream: &mut TcpStream) -> anyhow::Result<()> {
    stream.write_all(REQUEST)?;
    let mut buffer = [0; BUFFER_BYTES];
    let mut filled = 0;
    loop {
        let count = stream.read(&mut buffer[filled..])?;
        ensure!(count > 0, "the connection ended");
        filled += count;
        if is_whole(&buffer[..filled])? {
            return Ok(());
        }
    }
}

/// Opens connections that are idle, from the begin or after one request.
pub fn open_idle(
    addr: SocketAddr,
    count: usize,
    has_asked: bool,
) -> anyhow::Result<Vec<TcpStream>> {
    let open = |_| {
        let mut stream = connect(addr)?;
        if has_asked {
            exchange(&mut stream)?;
        }
        Ok(stream)
    };
    (0..count).map(open).collect()
}

/// Are these bytes a whole answer?
fn is_whole(bytes: &[u8]) -> anyhow::Result<bool> {
    let Some(head) = bytes.windows(4).position(|end| end == b"\r\n\r\n") else {
        return Ok(false);
    };
    if !bytes.starts_with(b"HTTP/1.1 200 ") {
        bail!("unexpected answer: {}", String::from_utf8_lossy(&bytes[..head]));
    }
    let length = bytes[..head].split(|byte| *byte == b'\n').find_map(|line| {
        let name = line.get(..16)?;
        let is_length = name.eq_ignore_ascii_case(b"content-length: ");
        is_length.then(|| std::str::from_utf8(&line[16..]).ok()?.trim().parse::<usize>().ok())?
    });
    let length = length.context("an answer without a length")?;
    Ok(bytes.len() == head + 4 + length)
}
