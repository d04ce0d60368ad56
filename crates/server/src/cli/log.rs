//! Starts the log.

use std::io;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::terminal::Log;
use crate::config::{LogFormat, LogLevel};

/// Starts the log on standard error, since standard output belongs to the protocol.
///
/// No text of a file may get into the log. The SDK logs whole requests at the levels below *warn*, so these
/// levels are never switched on for the SDK. A panic is logged only with its place in the source. The SDK's
/// warnings are about requests that it has answered with an error; they are logged only if the level is
/// *info*, *debug* or *trace*.
pub fn start(level: LogLevel, format: LogFormat) {
    let level = match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let sdk = if level > LevelFilter::WARN { LevelFilter::WARN } else { level.min(LevelFilter::ERROR) };
    let targets = Targets::new().with_default(level).with_target("rmcp", sdk);
    let log = tracing_subscriber::registry().with(targets);
    let lines = tracing_subscriber::fmt::layer().with_writer(|| Log(io::stderr())).with_ansi(false);
    match format {
        LogFormat::Text => log.with(lines).init(),
        LogFormat::Json => log.with(lines.json().flatten_event(true)).init(),
    }
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "panic");
    }));
}
