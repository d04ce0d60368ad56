//! A throwaway server for tests: [`TestServer`]. It needs Debian's `postgresql`, and ends with the process.
//! The tests of the program use this file, too.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// Starts the server with the given arguments, waits until the standard input ends, stops the server and
/// removes its files.
const KEEPER: &str = r#"bin=$1; home=$2; shift 2; "$bin/postgres" -D "$home/data" "$@" >>"$home/log" 2>&1 & pid=$!
    cat >/dev/null; kill -QUIT $pid; wait $pid; [ -e "$home/keep" ] || rm -rf "$home""#;

/// A `PostgreSQL` server on loopback and a Unix socket. Everybody may log in; `fsync` is off.
pub(crate) struct TestServer {
    home: PathBuf,
    bin: PathBuf,
    pub(crate) port: u16,
    keeper: Option<Child>,
    settings: Vec<String>,
}

/// Returns the directory of the server's programs.
fn programs() -> Option<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir("/usr/lib/postgresql").ok()?.flatten().map(|entry| entry.path()).collect();
    found.sort();
    found.into_iter().rev().map(|path| path.join("bin")).find(|bin| bin.join("initdb").exists())
}

#[cfg(unix)]
pub(crate) fn is_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").or_else(|_| fs::metadata(".")).unwrap())
        == 0
}

/// Returns a command that runs as a user who is not root: the server and a pool refuse to run as root.
pub(crate) fn unprivileged(program: impl AsRef<std::ffi::OsStr>) -> Command {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has root"))]
    let mut command = Command::new(program);
    #[cfg(unix)]
    if is_root() {
        std::os::unix::process::CommandExt::uid(&mut command, 65534);
        std::os::unix::process::CommandExt::gid(&mut command, 65534);
    }
    command
}

/// Creates a directory for files that a server reads. The server can be another user, who may not enter a
/// directory in `TMPDIR`.
pub(crate) fn readable_directory() -> tempfile::TempDir {
    let directory = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").unwrap();
    #[cfg(unix)]
    fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    directory
}

impl TestServer {
    /// Returns the server of this process; `None`, with a message, if there is no `PostgreSQL`.
    pub(crate) fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<TestServer>> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[])).as_ref()
    }

    /// Starts a separate server with these settings, each `name=value`.
    pub(crate) fn start(settings: &[&str]) -> Option<Self> {
        // Under Wine, programs for Linux cannot be started.
        let Some(bin) = programs().filter(|_| cfg!(unix)) else {
            let is_required = cfg!(unix) && std::env::var_os("REQUIRE_ALL").is_some();
            assert!(!is_required, "there is no PostgreSQL server");
            writeln!(std::io::stderr(), "skipped: there is no PostgreSQL server").ok();
            return None;
        };
        let home = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").unwrap().keep();
        #[cfg(unix)]
        if is_root() {
            std::os::unix::fs::chown(&home, Some(65534), Some(65534)).unwrap();
        }
        let made = unprivileged(bin.join("initdb"))
            .args(["--no-sync", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-D"])
            .arg(home.join("data"))
            .current_dir(&home)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let mut server = Self { home, bin, port, keeper: None, settings };
        server.go_on();
        Some(server)
    }

    /// Starts the server, if it does not run, and waits until it answers.
    pub(crate) fn go_on(&mut self) {
        let home = self.home.to_str().unwrap();
        let mut command = unprivileged("sh");
        command.args(["-c", KEEPER, "sh", self.bin.to_str().unwrap(), home]);
        command.args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=200"]);
        command.args([
            "-c",
            &format!("port={}", self.port),
            "-c",
            &format!("unix_socket_directories={home}"),
        ]);
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        let keeper =
            command.current_dir(&self.home).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        self.keeper = Some(keeper);
        for _ in 0..600 {
            if self.try_sql("select 1").is_ok() {
                return;
            }
            sleep(Duration::from_millis(50));
        }
        panic!("the server does not answer: {}", fs::read_to_string(self.home.join("log")).unwrap());
    }

    /// Ends the server at once, as if its machine lost power, and leaves its files.
    pub(crate) fn stop(&mut self) {
        fs::write(self.home.join("keep"), "").unwrap();
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            keeper.wait().unwrap();
        }
        fs::remove_file(self.home.join("keep")).unwrap();
    }

    /// Makes the server a standby from its next start. The standby then waits for a primary server that does
    /// not exist.
    pub(crate) fn is_to_stand_by(&self) {
        let mark = self.home.join("data/standby.signal");
        assert!(unprivileged("touch").arg(mark).status().unwrap().success());
    }

    /// Returns the directory of the server's Unix socket.
    #[cfg(unix)]
    pub(crate) fn directory(&self) -> &std::path::Path {
        &self.home
    }

    /// Runs statements as the superuser, and returns the answer.
    pub(crate) fn sql(&self, text: &str) -> String {
        self.try_sql(text).unwrap()
    }

    fn try_sql(&self, text: &str) -> Result<String, String> {
        let mut psql = Command::new(self.bin.join("psql"))
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-h"])
            .arg(&self.home)
            .args(["-p", &self.port.to_string(), "postgres"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // If there is no server, `psql` ends without reading.
        psql.stdin.take().unwrap().write_all(text.as_bytes()).ok();
        let done = psql.wait_with_output().unwrap();
        let told = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if done.status.success() { Ok(told(&done.stdout)) } else { Err(told(&done.stderr)) }
    }

    /// Makes the server refuse the operation `what` (`insert`, `update`) on a table of a schema the next
    /// `times` times, with this SQLSTATE.
    pub(crate) fn refuse(&self, (schema, table): (&str, &str), what: &str, times: u32, code: &str) {
        self.sql(&format!(
            "set search_path = {schema}; drop function if exists refuses cascade; drop sequence if exists tries; create sequence tries;
            create function refuses() returns trigger language plpgsql as $$ begin
                if nextval('tries') <= {times} then raise exception 'refused' using errcode = '{code}'; end if;
                return new;
            end $$;
            create trigger refuses before {what} on {table} for each row execute function refuses()"
        ));
    }

    /// Returns a URL with a schema that no other test uses.
    pub(crate) fn url(&self) -> String {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        self.url_with(&format!("schema=of_{next}"))
    }

    /// Returns a URL for the superuser, without TLS, with these parameters.
    pub(crate) fn url_with(&self, parameters: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres?sslmode=disable&{parameters}", self.port)
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            keeper.wait().ok();
        } else {
            fs::remove_dir_all(&self.home).ok();
        }
    }
}
